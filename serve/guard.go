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

// guard lets through who knows the token and only reads. The token comes once, in the address
// that is opened, and what is made of it stays in a cookie: it stands in no link and no list of what was
// visited, and a server on another port that is shown the cookie can open nothing with it but these pages. A page of the web cannot ask in the reader's name, since the cookie is not sent along
// with its requests, nor under a name of its own that it lets stand for this machine's address.
type guard struct {
	token, host string // host: the name or address to listen on
	next        http.Handler
}

// policy allows the style sheet of the page itself and the one script that there is.
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
		to := url.URL{Path: "/" + strings.TrimLeft(q.URL.Path, `/\`)} // of this server, not //of.another
		http.Redirect(w, q, to.String(), http.StatusSeeOther)
	case err == nil && equal(cookie.Value, value):
		g.next.ServeHTTP(w, q)
	default:
		http.Error(w, "open the address that tare serve printed: it ends with a token", http.StatusForbidden)
	}
}

// equal compares secrets, in a time that tells nothing of them.
func equal(one, other string) bool {
	a, b := sha256.Sum256([]byte(one)), sha256.Sum256([]byte(other))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookie is the name and the value of the cookie for the port of a host. Browsers do not tell servers on two ports of
// a machine apart.
func (g *guard) cookie(host string) (name, value string) {
	_, port, _ := net.SplitHostPort(host)
	sum := sha256.Sum256([]byte("cookie for " + port + " " + g.token))
	return "tare-" + port, hex.EncodeToString(sum[:])
}

// named says whether a request is for this machine by a name that is nobody else's to give: an
// address, localhost or what to listen on. The port may be that of a tunnel.
func (g *guard) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || host != "" && host == strings.ToLower(g.host)
}
