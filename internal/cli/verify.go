package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/report/columns"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
	"tare/internal/version"
)

type verification struct {
	Run       string   `json:"run"`
	Whole     bool     `json:"whole"`
	Damage    string   `json:"damage,omitempty"`
	Finished  bool     `json:"finished"`
	Trials    int      `json:"trials"`
	Notes     int      `json:"notes"`
	Files     int      `json:"files"`     // number of raw files whose digests match
	Absent    int      `json:"absent"`    // number of trials whose raw output is not here
	Unchecked int      `json:"unchecked"` // number of raw files without a recorded digest
	Uncovered []string `json:"uncovered"` // names of the raw files without a recorded digest
	Chain     string   `json:"chain"`     // digest of the last note; empty if the record has no chain
	SignedBy  string   `json:"signedBy,omitempty"`
	Remarks   []string `json:"remarks"`
}

func newVerify(s State) *cobra.Command {
	var out, signers string
	c := &cobra.Command{
		Use:   "verify [RUN]...",
		Short: "Check that a run is unchanged since it was recorded",
		Long: `Check that a run is unchanged since it was recorded: no line of its record was
changed or removed, its plan, experiment and raw files are the recorded ones, and the
experiment gives this plan, if this version of Tare made it. Without RUN, the newest run
below runs/. RUN is a run directory, or an archive that tare export made.

A run without its directory raw/ is a head (tare export --as head): its record is
checked, and the output says that the raw output is not here.

Each line of the record holds a hash over all lines before it. The hash of the last
line identifies the whole run: publish it with the results, and anyone with the run
directory can check that it is the published one. With --signer, the run must also be
signed by one of the allowed signers in a file (ssh-keygen(1)).

Exit code 5: a run is damaged.`,
		Example: `  tare verify
  tare verify runs/quickstart-20260102-150405 -o json
  tare verify --signer allowed_signers runs/quickstart-20260102-150405`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			damaged := false
			var all []verification
			for _, one := range oneByOne(args) {
				dir, err := runDir(one)
				if err != nil {
					return err
				}
				v, err := verify(c.Context(), dir, signers)
				if err != nil {
					return err
				}
				damaged = damaged || !v.Whole
				if all = append(all, v); out == "table" {
					v.print(s)
				}
			}
			if out != "table" {
				if err := encode(s.Stdout, all, out); err != nil {
					return err
				}
			}
			if damaged {
				return exit(ExitInvalid)
			}
			return nil
		},
	}
	c.Flags().StringVar(&signers, "signer", "", "file of allowed signers, one of whom must have signed the run")
	addFormat(c, &out, "table", "json", "yaml")
	return c
}

// verify checks a run directory or an archive, and with signers the signature. The error reports that the check itself
// failed.
func verify(ctx context.Context, named, signers string) (v verification, err error) {
	dir := named
	if journal.IsArchive(named) {
		var remove func() error
		dir, remove, err = journal.Unpack(named)
		if damage, ok := errors.AsType[*journal.DamageError](err); ok {
			return verification{Run: named, Damage: damage.Found(), Uncovered: []string{}, Remarks: []string{}}, nil
		}
		if err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	v, err = verifyDir(dir)
	if err == nil && v.Whole && signers != "" {
		err = v.signedBy(ctx, signers)
	}
	v.Run = named
	return v, err
}

func verifyDir(dir string) (verification, error) {
	run, got, err := journal.Verify(dir)
	v := verification{Run: dir, Trials: got.Trials, Notes: got.Notes, Files: got.Files, Absent: got.Absent,
		Unchecked: len(got.Unchecked), Uncovered: append([]string{}, got.Unchecked...), Chain: got.Chain, Remarks: []string{}}
	var damage *journal.DamageError
	if errors.As(err, &damage) {
		v.Damage = damage.Found()
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Whole, v.Finished = true, run.Finished
	remark := func(text string) { v.Remarks = append(v.Remarks, text) }
	if v.Chain == "" {
		remark("without chain: an older Tare began this run, and a change of its record may pass")
	}
	if !run.Finished {
		remark("not finished: trials at its end may be missing")
	}
	if exists(filepath.Join(dir, journal.SignatureFile)) {
		remark("signed; --signer ALLOWED_SIGNERS says by whom")
	}
	err, other := checkPlan(run)
	if errors.As(err, &damage) {
		v.Whole, v.Damage = false, damage.Found()
	} else if other != nil {
		remark("the plan could not be made again of the experiment: " + strings.TrimPrefix(other.Error(), dir+": "))
	}
	return v, nil
}

// checkPlan compares a run's plan with a new expansion of its experiment. damage is a difference if this version of
// Tare made the run.
func checkPlan(run *journal.Run) (damage, other error) {
	if run.Experiment == nil {
		return nil, nil
	}
	_, _, err := replan(run.Dir)
	if moved, ok := errors.AsType[*otherPlanError](err); ok && run.Plan.Version == version.String() {
		return &journal.DamageError{Dir: run.Dir, Where: journal.PlanFile, What: "experiment.yaml gives other " + moved.parts}, nil
	}
	return nil, err
}

func (v verification) print(s State) {
	dir := safetext.Name(v.Run)
	if !v.Whole {
		fmt.Fprintf(s.Stdout, "%s: DAMAGED: %s\n", dir, safetext.Name(v.Damage))
		return
	}
	what := counted(v.Trials, "trial") + ", " + counted(v.Notes, "note")
	if v.Absent > 0 {
		fmt.Fprintf(s.Stdout, "%s: the record is whole: %s; the raw output of %s is not here (its digests are recorded)", dir, what, counted(v.Absent, "trial"))
	} else {
		fmt.Fprintf(s.Stdout, "%s: whole: %s, %s of raw output", dir, what, counted(v.Files, "file"))
	}
	if v.Unchecked > 0 {
		fmt.Fprintf(s.Stdout, " (%d more without a digest: %s)", v.Unchecked, columns.Shorten(safetext.Name(strings.Join(v.Uncovered, ", ")), 500, "…"))
	}
	fmt.Fprintln(s.Stdout)
	if v.Chain != "" {
		fmt.Fprintf(s.Stdout, "chain: %s\n", v.Chain)
	}
	if v.SignedBy != "" {
		fmt.Fprintf(s.Stdout, "signed by %s\n", safetext.Name(v.SignedBy))
	}
	for _, r := range v.Remarks {
		fmt.Fprintln(s.Stdout, "note: "+safetext.Name(r))
	}
}

// signatureNamespace prevents a signature of a run from being valid for other data.
const signatureNamespace = "tare-run"

func addSign(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "sign", "", "SSH key that signs the run when it is finished: a private key, or a public one whose private key ssh-agent holds")
}

func sshKeygen(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // the user may have to confirm the use of a key within this time
	defer cancel()
	var out bytes.Buffer
	_, err := testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{
		Args: append([]string{"ssh-keygen", "-Y"}, args...), Env: []string{"LC_ALL=C"}, Stdin: strings.NewReader(stdin), Stdout: &out})
	return out.Bytes(), err
}

// sign signs the text of a chain and a newline. Without a key it does nothing.
func sign(ctx context.Context, key, chain string) ([]byte, error) {
	if key == "" {
		return nil, nil
	}
	signature, err := sshKeygen(ctx, chain+"\n", "sign", "-n", signatureNamespace, "-f", key)
	return signature, hinted(err, "--sign takes an SSH key that needs no passphrase, or its public half while ssh-agent holds it, and the program ssh-keygen")
}

// signed signs a finished run if a key is given. If signing fails, it returns that error; otherwise it returns the
// run's own error (ran).
func signed(ctx context.Context, s State, dir, key string, ran error) error {
	if key == "" {
		return ran
	}
	run, err := journal.Open(dir)
	if err != nil || !run.Finished {
		fmt.Fprintf(s.Stderr, "run %s is not signed, since it is not finished: tare resume --sign goes on\n", safetext.Name(dir))
		return ran
	}
	signature, err := sign(ctx, key, run.Chain())
	if err == nil {
		err = writeWhole(filepath.Join(dir, journal.SignatureFile), func(w io.Writer) error {
			_, err := w.Write(signature)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("run %s is not signed: %w", dir, err)
	}
	return ran
}

// signedBy finds the allowed signer of the run, or reports damage. An error means that the check itself failed.
func (v *verification) signedBy(ctx context.Context, signers string) error {
	if _, err := os.Stat(signers); err != nil {
		return usage(fmt.Errorf("--signer: %w", err))
	}
	signature := filepath.Join(v.Run, journal.SignatureFile)
	found, err := sshKeygen(ctx, "", "find-principals", "-s", signature, "-f", signers)
	name, _, _ := strings.Cut(string(found), "\n")
	if err == nil {
		_, err = sshKeygen(ctx, v.Chain+"\n", "verify", "-n", signatureNamespace, "-f", signers, "-I", name, "-s", signature)
	}
	var refused *testbed.ExitError
	if errors.As(err, &refused) {
		v.Whole, v.Damage = false, fmt.Sprintf("%s: no signature of this run by any of %s: %s", journal.SignatureFile, signers, strings.TrimSpace(refused.Stderr))
		return nil
	}
	v.SignedBy = name
	return err
}
