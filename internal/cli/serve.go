package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/spf13/cobra"

	"tare/internal/report/serve"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

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
