package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard only serves readers who know the token, and only GET and HEAD requests. The first address contains
// the token; after that a cookie derived from the token identifies the reader. The token therefore appears in
// no link and no browser history. A server on another port that receives the cookie cannot use it elsewhere
// than for these pages. Other web pages cannot make requests in the reader's name: the browser does not send
// the cookie with their requests, and the guard rejects foreign host names that resolve to this machine.
type guard struct {
	token, host string // host: the name or address that the server listens on
	next        http.Handler
}

// policy allows the page's own style sheet and the script live.js.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (g *guard) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	for name, value := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		w.Header().Set(name, value)
	}
	token := q.URL.Query().Get("token")
	name, value := g.cookie(q.Host)
	switch cookie, err := q.Cookie(name); {
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "tare serve only shows: GET and HEAD", http.StatusMethodNotAllowed)
	case !g.named(q.Host):
		http.Error(w, "not the address that tare serve printed", http.StatusMisdirectedRequest)
	case equal(token, g.token):
		http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		to := url.URL{Path: "/" + strings.TrimLeft(q.URL.Path, `/\`)} // strips slashes: //other.host would lead to another server
		http.Redirect(w, q, to.String(), http.StatusSeeOther)
	case err == nil && equal(cookie.Value, value):
		g.next.ServeHTTP(w, q)
	default:
		http.Error(w, "open the address that tare serve printed: it ends with a token", http.StatusForbidden)
	}
}

// equal compares secrets in constant time.
func equal(one, other string) bool {
	a, b := sha256.Sum256([]byte(one)), sha256.Sum256([]byte(other))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookie returns the name and the value of the cookie for the port of a host. The name contains the port,
// because browsers share cookies between all ports of a machine.
func (g *guard) cookie(host string) (name, value string) {
	_, port, _ := net.SplitHostPort(host)
	sum := sha256.Sum256([]byte("cookie for " + port + " " + g.token))
	return "tare-" + port, hex.EncodeToString(sum[:])
}

// named reports whether a request names this machine by an IP address, by localhost or by the name it listens
// on. Nobody else can point these names at this machine. The port may differ, for example behind a tunnel.
func (g *guard) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || host != "" && host == strings.ToLower(g.host)
}
