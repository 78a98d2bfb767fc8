package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// sign signs a chain: what is signed is the chain and the end of its line.
func sign(ctx context.Context, key, chain string) ([]byte, error) {
	return sshKeygen(ctx, chain+"\n", "sign", "-n", signatureNamespace, "-f", key)
}

// trySigning says before a run whether its end can be signed.
func trySigning(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	_, err := sign(ctx, key, "")
	return hinted(err, "--sign takes an SSH key that needs no passphrase, or its public half while ssh-agent holds it")
}

// signed signs a run that was carried out, if it is finished. It gives the error of the run,
// or else its own.
func signed(ctx context.Context, s State, dir, key string, ran error) error {
	if key == "" {
		return ran
	}
	run, err := journal.Open(dir)
	if err == nil && !run.Finished {
		err = errors.New("it is not finished")
	}
	var signature []byte
	if err == nil {
		signature, err = sign(ctx, key, run.Chain())
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, journal.SignatureFile), signature, 0o666)
	}
	if err == nil {
		return ran
	}
	err = fmt.Errorf("run %s is not signed: %w", dir, err)
	if ran == nil {
		return err
	}
	fmt.Fprintln(s.Stderr, "tare:", err)
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
