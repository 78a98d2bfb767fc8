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

	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

// signatureNamespace prevents a signature of a run from being valid for other data.
const signatureNamespace = "tare-run"

// keygenLimit is the longest time for signing or verifying, since a key may ask its user.
const keygenLimit = time.Minute

func addSign(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "sign", "", "SSH key that signs the run when it is finished: a private key, or a public one whose private key ssh-agent holds")
}

// sshKeygen runs the OpenSSH program that makes and checks signatures.
func sshKeygen(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keygenLimit)
	defer cancel()
	var out bytes.Buffer
	_, err := testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{
		Args: append([]string{"ssh-keygen", "-Y"}, args...), Env: []string{"LC_ALL=C"}, Stdin: strings.NewReader(stdin), Stdout: &out})
	return out.Bytes(), err
}

// sign signs a chain followed by a newline, if there is a key.
func sign(ctx context.Context, key, chain string) ([]byte, error) {
	if key == "" {
		return nil, nil
	}
	signature, err := sshKeygen(ctx, chain+"\n", "sign", "-n", signatureNamespace, "-f", key)
	return signature, hinted(err, "--sign takes an SSH key that needs no passphrase, or its public half while ssh-agent holds it, and the program ssh-keygen")
}

// signed signs a run, if there is a key and the run is finished. ran is the error that the run ended with.
// signed returns it unless signing fails.
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

// signedBy determines which of the allowed signers has signed the run. Without a valid signature, the run does
// not pass. An error means that the check itself failed.
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
