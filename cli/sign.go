package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/journal"
)

// signatureNamespace keeps a signature of a run from being taken for one of anything else.
const signatureNamespace = "tare-run"

// keygenLimit bounds how long signing or verifying may take, with a key that asks somebody.
const keygenLimit = time.Minute

func addSign(c *cobra.Command, key *string) {
	c.Flags().StringVar(key, "sign", "", "SSH key that signs the finished run: a private key, or a public one whose private key ssh-agent holds")
	_ = c.MarkFlagFilename("sign")
}

// sshKeygen runs the signature program of OpenSSH.
func sshKeygen(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	path, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return nil, hinted(err, "signatures are those of OpenSSH; install it with: apt-get install openssh-client")
	}
	ctx, cancel := context.WithTimeout(ctx, keygenLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"-Y"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(stdin)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("ssh-keygen -Y %s: %w: %s", args[0], err, strings.Join(strings.Fields(said.String()+" "+string(out)), " "))
	}
	return out, err
}

// sign signs a chain, if there is a key: the chain and the end of its line are what is signed.
func sign(ctx context.Context, key, chain string) ([]byte, error) {
	if key == "" {
		return nil, nil
	}
	signature, err := sshKeygen(ctx, chain+"\n", "sign", "-n", signatureNamespace, "-f", key)
	return signature, hinted(err, "--sign takes an SSH key that needs no passphrase, or its public half while ssh-agent holds it")
}

// signed signs a run that was carried out, if there is a key and the run is finished. Ran is how it
// ended, which is the result unless signing fails.
func signed(ctx context.Context, dir, key string, ran error) error {
	run, err := journal.Open(dir)
	if key == "" || err != nil || !run.Finished {
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
	refuse := func(why string) error {
		v.Whole, v.Damage = false, journal.SignatureFile+": "+why
		return nil
	}
	if _, err := os.Stat(signature); err != nil {
		return refuse("the run is not signed")
	}
	var failed *exec.ExitError
	found, err := sshKeygen(ctx, "", "find-principals", "-s", signature, "-f", signers)
	name, _, _ := strings.Cut(string(found), "\n")
	if err == nil {
		_, err = sshKeygen(ctx, v.Chain+"\n", "verify", "-n", signatureNamespace, "-f", signers, "-I", name, "-s", signature)
	}
	if errors.As(err, &failed) {
		return refuse("it is no signature of this run by any of " + signers + ": " + err.Error())
	}
	v.SignedBy = name
	return err
}
