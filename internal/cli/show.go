package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/report/serve"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
	"tare/internal/runs/published"
)

func newShow(s State) *cobra.Command {
	var out, as string
	var table publishedFlags
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show the results of a run",
		Long: `Show the results of a run: one line per metric and arm with the verdict, the
overhead and its interval. Without RUN, the newest run below runs/. For a run that is
unfinished, the results so far are shown.

With --as published, show the table that articles on benchmarks print: means with
their variances, and differences in percent of either side, each with the result of
its interval.`,
		Example: `  tare show
  tare show runs/quickstart-20260102-150405 --all
  tare show -o json | jq '.comparisons[] | {arm, metric: .metric.name, text}'
  tare show --as published`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			switch as {
			case asPublished:
			case "":
				if err := table.refuse(c, "--as published"); err != nil {
					return err
				}
			default:
				return hintedUsage(errors.New("--as "+as+": not known"), "--as published is the table of means and variances that write-ups print")
			}
			run, result, err := openRun(args)
			if err != nil {
				return err
			}
			if len(run.Trials) == 0 {
				fmt.Fprintf(s.Stderr, "%s has no finished trial yet\n", run.Dir)
			}
			if as == asPublished {
				t, err := table.table(run, result)
				if err != nil {
					return err
				}
				return view(s, t, paged{out: out}, report.PublishedCSV, func(document.Forms) *document.Document {
					return report.Published(table.shown(t), table.digits)
				})
			}
			return show(s, result, out, table.all)
		},
	}
	c.Flags().BoolVar(&table.all, "all", false, "show exploratory metrics, too")
	c.Flags().StringVar(&as, "as", "", "another form: published")
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{asPublished}, cobra.ShellCompDirectiveNoFileComp))
	table.add(c)
	addFormat(c, &out, formats...)
	return c
}

func openRun(args []string) (*journal.Run, *analysis.Run, error) {
	dir, err := runDir(args)
	if err != nil {
		return nil, nil, err
	}
	run, err := journal.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	return run, analysis.OfRun(run), nil
}

// runDir returns the named run directory or archive of a run, or without arguments the newest run directory.
func runDir(args []string) (string, error) {
	if len(args) == 1 {
		if journal.IsArchive(args[0]) {
			return args[0], nil
		}
		if _, err := os.Stat(filepath.Join(args[0], "plan.json")); err != nil {
			if _, err := journal.Open(args[0]); errors.As(err, new(*journal.DamageError)) {
				return "", err
			}
			return "", noRun(args[0], err)
		}
		return args[0], nil
	}
	dirs, err := journal.Find("runs")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if len(dirs) == 0 {
		return "", hintedUsage(errors.New("no run below runs/"), "tare run examples/quickstart.yaml makes one; or name a run directory")
	}
	return newest(dirs), nil
}

func each[T, R any](list []T, result func(T) R) []R {
	out := make([]R, len(list))
	for i, item := range list {
		out[i] = result(item)
	}
	return out
}

// oneByOne returns one list of arguments for each named run. Without names, it returns a single empty list, which means
// the newest run.
func oneByOne(args []string) [][]string {
	if len(args) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(args, 1))
}

// noRun returns the error for a directory that is no run directory. If runs lie below the directory, the hint names the
// newest.
func noRun(dir string, err error) error {
	err = fmt.Errorf("%s is not a run directory: %w", dir, err)
	below, _ := journal.Find(dir)
	switch len(below) {
	case 0:
		return hintedUsage(err, "a run directory is what tare run and tare import make; it holds plan.json and trials.jsonl")
	case 1:
		return hintedUsage(err, "there is a run below it: %s", below[0])
	}
	return hintedUsage(err, "there are %d runs below it, of which %s is the newest; name one", len(below), newest(below))
}

func newest(dirs []string) string {
	return slices.MaxFunc(dirs, func(a, b string) int { return made(a).Compare(made(b)) })
}

func made(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "plan.json"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

const asPublished = "published" // value of show --as

const mostDigits = 12 // largest number of decimals in a published table

type publishedFlags struct {
	published.Options
	wanted bool // set if tare report shows the table of published values
	all    bool // set if the text formats show exploratory metrics
	digits int  // number of decimals; -1: chosen by how much the values vary
}

func (f *publishedFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.Reference, "reference", "", "arm whose differences the published table shows (default: all pairs of up to four arms)")
	_ = c.RegisterFlagCompletionFunc("reference", completeArms)
	c.Flags().IntVar(&f.digits, "digits", report.AsTheyVary, "decimals of the published table (-1: chosen by how much the values vary)")
	c.Flags().BoolVar(&f.WithInvalid, "with-invalid", false, "include invalid trials in the published table, like tables that do not check errors")
}

func (f *publishedFlags) refuse(c *cobra.Command, flag string) error {
	names := []string{"reference", "with-invalid", "digits"}
	if flag == "--published" { // tare show uses the flag --all itself
		names = append(names, "all")
	}
	for _, name := range names {
		if c.Flags().Changed(name) {
			return hintedUsage(fmt.Errorf("--%s is about the published table", name), "add %s", flag)
		}
	}
	return nil
}

// shown returns the part of a table for text formats. JSON and CSV get the whole table.
func (f *publishedFlags) shown(t *published.Table) *published.Table {
	if f.all {
		return t
	}
	return t.Headline()
}

func (f *publishedFlags) table(run *journal.Run, result *analysis.Run) (*published.Table, error) {
	if f.digits < report.AsTheyVary || f.digits > mostDigits {
		return nil, hintedUsage(fmt.Errorf("--digits %d: not a number of decimals", f.digits), "0 to %d, or -1 for as many as show what the values vary by", mostDigits)
	}
	t, err := published.Of(result, run.Trials, f.Options)
	return t, usage(err)
}

func newServe(s State) *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Show runs in a browser, also one in progress",
		Long: `Show the runs below DIR (default runs/) in a browser: a list of them, a run in
progress, reports, comparisons and the history.

The address is printed on stdout. It contains a token, without which nothing is shown.
The server accepts connections from this machine only, unless --listen sets another
address. It changes nothing, needs no network, and ends with Ctrl-C.`,
		Example: `  tare serve
  tare serve nightly --listen 127.0.0.1:8080
  ssh -L 8080:127.0.0.1:8080 bench tare serve --listen 127.0.0.1:8080`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			library, err := openLibrary(args)
			if err != nil {
				return err
			}
			host, _, err := net.SplitHostPort(listen)
			if err != nil {
				return hintedUsage(fmt.Errorf("--listen %s: %w", listen, err), "for example --listen 127.0.0.1:8080")
			}
			listener, err := new(net.ListenConfig).Listen(c.Context(), "tcp", listen)
			if err != nil {
				return hinted(err, "--listen 127.0.0.1:0 takes any port that is free")
			}
			if at, err := netip.ParseAddrPort(listener.Addr().String()); err != nil || !at.Addr().IsLoopback() {
				fmt.Fprintln(s.Stderr, "others can reach this address, and nothing is encrypted: the token can be read on the way")
			}
			token := rand.Text()
			fmt.Fprintln(s.Stdout, shownAt(host, listener.Addr(), token))
			fmt.Fprintln(s.Stderr, "Ctrl-C ends it")
			return serve.Serve(c.Context(), listener, library.Handler(token, host))
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address and port to listen on; port 0 means any free port")
	return c
}

func shownAt(host string, at net.Addr, token string) string {
	_, port, _ := net.SplitHostPort(at.String())
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/", RawQuery: url.Values{"token": {token}}.Encode()}
	return u.String()
}

func openLibrary(args []string) (*serve.Library, error) {
	dir := append(args, journal.DefaultRoot)[0]
	library, err := serve.Open(dir)
	if err != nil {
		return nil, hintedUsage(err, "name a directory that holds runs; tare run makes one below %s/", journal.DefaultRoot)
	}
	return library, nil
}

func newSite(s State) *cobra.Command {
	var to string
	var noRaw bool
	c := &cobra.Command{
		Use:   "site [DIR]",
		Short: "Write the pages of tare serve as files to publish",
		Long: `Write the runs below DIR (default runs/) as a static site: a list of them, their
reports, the comparison of each with the previous run, the history, and the files of each
run whose digests the record contains.

Links are relative, so that the site works wherever it is published, and the same
runs give the same files. A later site replaces an earlier one in the same directory;
other files there are never touched.`,
		Example: `  tare site
  tare site nightly --to public
  tare site nightly --to public --no-raw`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			library, err := openLibrary(args)
			if err != nil {
				return err
			}
			done, err := library.Site(c.Context(), to, !noRaw, func(run *journal.Run) error {
				damage, _ := checkPlan(run)
				return damage
			})
			var inTheWay *serve.InTheWay
			switch {
			case errors.As(err, &inTheWay):
				return hintedUsage(err, "name another directory with --to, or remove the file")
			case errors.Is(err, serve.ErrWithin):
				return hintedUsage(fmt.Errorf("--to %s: %w", to, err), "name a directory beside the runs")
			case err != nil:
				return fmt.Errorf("write the site: %w", err)
			}
			for _, skip := range done.Skipped {
				fmt.Fprintln(s.Stderr, "skipped "+skip.Directory+": "+skip.Reason)
			}
			fmt.Fprintf(s.Stderr, "%s, %s\n", wording.Count(done.Pages, "page", "pages"), wording.Count(done.Files, "file", "files"))
			fmt.Fprintln(s.Stdout, to)
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "site", "directory to write to")
	c.Flags().BoolVar(&noRaw, "no-raw", false, "leave out raw files, except their digests")
	return c
}
