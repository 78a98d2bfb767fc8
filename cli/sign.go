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

	"tare/journal"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/local"
)

// signatureNamespace keeps a signature of a run from being taken for one of anything else.
const signatureNamespace = "tare-run"

// keygenLimit bounds how long signing or verifying may take, with a key that asks somebody.
const keygenLimit = time.Minute

func addSign(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "sign", "", "SSH key that signs the run when it is finished: a private key, or a public one whose private key ssh-agent holds")
}

// sshKeygen runs the program of OpenSSH that makes and checks signatures.
func sshKeygen(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keygenLimit)
	defer cancel()
	var out bytes.Buffer
	_, err := testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{
		Args: append([]string{"ssh-keygen", "-Y"}, args...), Env: []string{"LC_ALL=C"}, Stdin: strings.NewReader(stdin), Stdout: &out})
	return out.Bytes(), err
}

// sign signs a chain and a newline behind it, if there is a key.
func sign(ctx context.Context, key, chain string) ([]byte, error) {
	if key == "" {
		return nil, nil
	}
	signature, err := sshKeygen(ctx, chain+"\n", "sign", "-n", signatureNamespace, "-f", key)
	return signature, hinted(err, "--sign takes an SSH key that needs no passphrase, or its public half while ssh-agent holds it, and the program ssh-keygen")
}

// signed signs a run that was carried out, if there is a key and the run is finished. Ran is how it
// ended, which is the result unless signing fails.
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

// signedBy finds out which of the allowed signers has signed the run; without one, the run is
// not what it is to be. An error says that it could not be found out.
func (v *verified) signedBy(ctx context.Context, signers string) error {
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
