package vault

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"tare/internal/lists"
)

// setUpRequest lists the engines, keys and secrets that the helper makes at the servers before the first trial.
type setUpRequest struct {
	Initialise bool          `json:"initialise"` // the members are new: Tare has just started them
	AuditFile  string        `json:"auditFile,omitempty"`
	Limit      time.Duration `json:"limit"`

	Mount      string        `json:"mount"` // name of the policy, and prefix of the engines' names ("-transit", "-kv")
	Encryption EncryptionKey `json:"encryption"`
	Signing    SigningKey    `json:"signing"`
	Bodies     bodies        `json:"bodies"`
	Secrets    int           `json:"secrets"` // number of secrets; without secrets there is no KV engine
	Secret     int           `json:"secret"`  // bytes of a secret
}

// prepared describes the engines at the servers. It holds tokens, and is never written to a disk.
type prepared struct {
	Mount      string `json:"mount"`
	Token      string `json:"token"`     // root token, or the user's token
	LoadToken  string `json:"loadToken"` // token of the load, with the few rights that the load needs
	Signature  string `json:"signature"`
	Ciphertext string `json:"ciphertext"`
	// Keys holds the types of the keys by name, as the server states them; empty if it forbids to read them.
	Keys map[string]string `json:"keys,omitempty"`
}

// prepare initialises and unseals new members, and makes the engines.
func (r *request) prepare(ctx context.Context) (*prepared, error) {
	p := r.Prepare
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	out := &prepared{Mount: p.Mount, Token: r.Token}
	if p.Initialise {
		token, err := r.initialise(ctx)
		if err != nil {
			return nil, err
		}
		out.Token = token
	}
	a := openAPI(r.URLs[0], r.trust, out.Token)
	if p.AuditFile != "" {
		device := map[string]any{"type": "file", "options": map[string]string{"file_path": p.AuditFile}}
		if err := a.call(ctx, http.MethodPut, "sys/audit/tare", device, nil); err != nil {
			return nil, fmt.Errorf("the audit device: %w", err)
		}
	}
	if err := p.engines(ctx, a, out); err != nil {
		return nil, err
	}
	return out, r.ignoreForeign(p.readKeys(ctx, a, out))
}

// initialise makes a cluster of new members, with the first member as leader, and returns the root token. The unseal
// key is not kept.
func (r *request) initialise(ctx context.Context) (string, error) {
	apis := lists.Map(r.URLs, func(url string) *api { return openAPI(url, r.trust, "") })
	first := apis[0]
	if err := first.await(ctx, "sys/seal-status"); err != nil {
		return "", fmt.Errorf("the first member does not answer: %w", err)
	}
	var made struct {
		Keys  []string `json:"keys_base64"`
		Token string   `json:"root_token"`
	}
	if err := first.call(ctx, http.MethodPut, "sys/init", map[string]int{"secret_shares": 1, "secret_threshold": 1}, &made); err != nil {
		return "", fmt.Errorf("initialise: %w", err)
	}
	if len(made.Keys) == 0 || made.Token == "" {
		return "", errors.New("initialise: the server gave no key")
	}
	unseal := func(ctx context.Context, a *api) error {
		return a.call(ctx, http.MethodPut, "sys/unseal", map[string]string{"key": made.Keys[0]}, nil)
	}
	if err := unseal(ctx, first); err != nil {
		return "", fmt.Errorf("unseal: %w", err)
	}
	first.token = made.Token
	if err := first.await(ctx, "sys/health"); err != nil { // status 200 comes when this member is the leader
		return "", fmt.Errorf("the first member does not become the leader: %w", err)
	}
	// Without this setting, a new member gets its vote only after 10 s.
	if len(apis) > 1 {
		if err := first.call(ctx, http.MethodPost, "sys/storage/raft/autopilot/configuration", map[string]string{"server_stabilization_time": "500ms"}, nil); err != nil {
			return "", err
		}
	}
	joining, ctx2 := errgroup.WithContext(ctx)
	for i, a := range apis[1:] {
		joining.Go(func() error {
			if err := r.join(ctx2, a, unseal); err != nil {
				return fmt.Errorf("member %d: %w", i+2, err)
			}
			return nil
		})
	}
	if err := joining.Wait(); err != nil {
		return "", err
	}
	return made.Token, retry(ctx, func(ctx context.Context) error {
		peers, err := peersOf(ctx, first)
		voters := 0
		for _, p := range peers {
			if p.Voter {
				voters++
			}
		}
		if err == nil && voters != len(apis) {
			err = fmt.Errorf("%d of %d members vote", voters, len(apis))
		}
		return err
	})
}

// join adds a new member to the first member's cluster, and waits until the member is a standby.
func (r *request) join(ctx context.Context, a *api, unseal func(context.Context, *api) error) error {
	if err := a.await(ctx, "sys/seal-status"); err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	to := map[string]any{"leader_api_addr": r.URLs[0], "leader_ca_cert": r.CA}
	if err := a.call(ctx, http.MethodPost, "sys/storage/raft/join", to, nil); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	if err := retry(ctx, func(ctx context.Context) error { return unseal(ctx, a) }); err != nil {
		return fmt.Errorf("unseal: %w", err)
	}
	return a.await(ctx, "sys/health?standbyok=true")
}

func (p *setUpRequest) engines(ctx context.Context, a *api, out *prepared) error {
	transit, kv := transitMount(p.Mount), kvMount(p.Mount)
	type step struct {
		method, path string
		body         any
	}
	steps := []step{
		{http.MethodPost, "sys/mounts/" + transit, map[string]string{"type": "transit"}},
		{http.MethodPost, transit + "/keys/" + encryptionKey, map[string]any{"type": p.Encryption}},
		{http.MethodPost, transit + "/keys/" + signingKey, map[string]any{"type": p.Signing}},
		{http.MethodPut, "sys/policies/acl/" + p.Mount, map[string]string{"policy": policy(p.Mount)}},
	}
	if p.Secrets > 0 {
		steps = append(steps, step{http.MethodPost, "sys/mounts/" + kv, map[string]any{"type": "kv", "options": map[string]string{"version": "2"}}})
	}
	for _, s := range steps {
		if err := a.call(ctx, s.method, s.path, s.body, nil); err != nil {
			return err
		}
	}
	var token struct {
		Auth struct {
			Token string `json:"client_token"`
		} `json:"auth"`
	}
	body := map[string]any{"policies": []string{p.Mount}, "no_parent": true, "ttl": "768h", "display_name": "tare"}
	if err := a.call(ctx, http.MethodPost, "auth/token/create", body, &token); err != nil {
		return fmt.Errorf("the token of the load: %w", err)
	}
	out.LoadToken = token.Auth.Token
	asLoad := *a
	asLoad.token = out.LoadToken
	return p.fill(ctx, &asLoad, out)
}

// readKeys reads the types of the keys.
func (p *setUpRequest) readKeys(ctx context.Context, a *api, out *prepared) error {
	out.Keys = map[string]string{}
	for _, key := range []string{encryptionKey, signingKey} {
		var answer struct {
			Data struct {
				Type string `json:"type"`
			} `json:"data"`
		}
		if err := a.call(ctx, http.MethodGet, transitMount(p.Mount)+"/keys/"+key, nil, &answer); err != nil {
			return err
		}
		out.Keys[key] = answer.Data.Type
	}
	return nil
}

func policy(mount string) string {
	return fmt.Sprintf("path %q { capabilities = [\"create\", \"update\"] }\npath %q { capabilities = [\"create\", \"read\", \"update\"] }\n",
		transitMount(mount)+"/*", kvMount(mount)+"/data/*")
}

// fill makes the data that the load needs, such as a ciphertext and secrets, with the load's own token. It fails if the
// token lacks a right.
func (p *setUpRequest) fill(ctx context.Context, a *api, out *prepared) error {
	transit := transitMount(p.Mount)
	var answer struct {
		Data struct {
			Signature  string `json:"signature"`
			Ciphertext string `json:"ciphertext"`
			Plaintext  string `json:"plaintext"`
			Valid      bool   `json:"valid"`
		} `json:"data"`
	}
	ask := func(path string, body map[string]string) error {
		return a.call(ctx, http.MethodPost, transit+"/"+path, body, &answer)
	}
	if err := ask("sign/"+signingKey, p.Bodies["verify"]); err != nil {
		return err
	}
	out.Signature = answer.Data.Signature
	if err := ask("verify/"+signingKey, p.Bodies.with("verify", "signature", out.Signature)); err != nil {
		return err
	}
	if !answer.Data.Valid {
		return errors.New("the server rejects its own signature")
	}
	text := p.Bodies["decrypt"]["plaintext"]
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil && len(plain) <= mostEncrypted(p.Encryption) {
		if err := ask("encrypt/"+encryptionKey, p.Bodies["decrypt"]); err != nil {
			return err
		}
		out.Ciphertext = answer.Data.Ciphertext
		if err := ask("decrypt/"+encryptionKey, map[string]string{"ciphertext": out.Ciphertext}); err != nil {
			return err
		}
		if answer.Data.Plaintext != text {
			return errors.New("the server decrypts its ciphertext to another text")
		}
	}
	for i := range p.Secrets {
		write := func(ctx context.Context) error {
			return a.call(ctx, http.MethodPost, kvMount(p.Mount)+"/data/"+secretName(i), secretOf(payload(p.Secret)), nil)
		}
		if i == 0 { // the first write is repeated until the new KV engine has become version 2
			if err := retry(ctx, write); err != nil {
				return err
			}
		} else if err := write(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *request) clear(ctx context.Context) error {
	a := openAPI(r.URLs[0], r.trust, r.Token)
	return errors.Join(lists.Map([]string{"sys/mounts/" + transitMount(r.Clear), "sys/mounts/" + kvMount(r.Clear), "sys/policies/acl/" + r.Clear}, func(path string) error { return a.call(ctx, http.MethodDelete, path, nil, nil) })...)
}
