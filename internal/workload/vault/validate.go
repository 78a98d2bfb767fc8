package vault

import (
	"net/url"
	"slices"

	"tare/internal/experiment"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
)

// readFiles reads the certificates to trust.
func (c *Config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	return workload.ReadFile(read, "ca", c.CA, &c.trusted)
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	for _, n := range c.Members {
		if n%2 == 0 {
			errs.Add("members", "%d members survive no more than %d do: give an odd number", n, n-1)
		}
	}
	if len(c.Rate) > 0 && len(c.Workers) > 0 {
		errs.Add("rate", "there is workers too: a loop is open (rate) or closed (workers)")
	}
	if c.Program == "" {
		errs.Add("program", "no program is given")
	}
	for _, key := range c.Encryption {
		for _, size := range c.Payload {
			if most := mostEncrypted(key); int(size) > most && c.encrypts() {
				errs.Add("payload", "%v do not fit a key %s, which encrypts %d bytes at most", size, key, most)
			}
		}
	}
	c.validateURL(&errs)
	load.CheckHeadline(&errs, c.Judged, []string{"latency-mean", "rate"}, c.Rate, c.Duration, "requests")
	return errs
}

// encrypts reports whether the load encrypts or decrypts.
func (c *Config) encrypts() bool {
	return slices.ContainsFunc(c.Operations.drawn(), func(o operation) bool { return o.name == "encrypt" || o.name == "decrypt" })
}

func (c *Config) validateURL(errs *experiment.FieldErrors) {
	*errs = append(*errs, c.Token.Validate("token")...)
	if c.URL == "" {
		if c.Token != "" {
			errs.Add("token", "there is no url: servers that Tare starts get a token that it makes")
		}
		if c.CA != "" {
			errs.Add("ca", "there is no url: servers that Tare starts have certificates that it makes")
		}
		return
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Path != "" && u.Path != "/":
		errs.Add("url", "%q is not http://HOST[:PORT] or https", c.URL)
	case u.User != nil:
		errs.Add("url", "it holds a user, which would be recorded with the run")
	}
	if c.Token == "" {
		errs.Add("token", "the server at the url asks for a token: give a reference to it, such as $VAULT_TOKEN")
	}
	if len(c.Members) != 1 || len(c.TLS) != 1 || len(c.Audit) != 1 {
		errs.Add("url", "an existing server keeps its own members, tls and audit: leave them out")
	}
}
