package serve

import (
	"fmt"
	"net/http"
	"time"
)

// showAlive is the interval between the lines that keep a connection open.
const showAlive = 15 * time.Second

// events sends a page a server-sent event whenever its run has changed, until the reader disconnects.
// Look is the interval between two checks of the run.
func (r *run) events(w http.ResponseWriter, q *http.Request, look time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if q.Method == http.MethodHead {
		return
	}
	say := func(line string) bool {
		_, err := fmt.Fprint(w, line+"\n\n")
		return err == nil && out.Flush() == nil
	}
	if !say(": listening") {
		return
	}
	looks, alive := time.NewTicker(look), time.NewTicker(showAlive)
	defer looks.Stop()
	defer alive.Stop()
	seen := q.URL.Query().Get("seen")
	for {
		select {
		case <-q.Context().Done():
			return
		case <-alive.C:
			if !say(": listening") {
				return
			}
		case <-looks.C:
			now, changed := r.changed(seen)
			if changed && !say("event: changed\ndata: "+now) {
				return
			}
			seen = now
		}
	}
}
