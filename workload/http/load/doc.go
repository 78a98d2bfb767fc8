// Package load generates HTTP load and measures how long answers take: HTTP/1.1, HTTP/2 (in
// clear with prior knowledge, or by ALPN over TLS) and gRPC unary calls.
//
// # What is measured
//
// In an open loop every request has an intended time, from a constant or a Poisson process,
// that does not depend on the server. Its latency runs from that time to the last byte of the
// answer. A server that stalls is therefore charged with its stall by all the requests that
// fell into it, and not only by those that were under way (the "coordinated omission" of
// closed loops; G. Tene, How NOT to Measure Latency, 2013). A closed loop has a number of
// workers, each of which sends its next request when the last one is answered; its latency
// runs from the moment of sending. It is there for comparison with tools that work so.
//
// Two parts of an open loop's latency are kept beside it. Waited is the time for which all
// connections were busy when a request fell due: a result of the server, or of too few
// connections. Lag is the time for which the generator itself was late, although a connection
// was free: it must be small against the latency, or the result says nothing of the server.
//
// Every request that falls due within the measured time ends exactly once: as OK, or as an
// error of one kind. None is left out.
//
// # How it works
//
// One goroutine paces: it sleeps until the next request is due (package pause) and writes it
// to the connection that has been free for longest, so that no other goroutine has to be woken
// in between. Each connection is read by a goroutine, or, in clear over HTTP/1.1 on Linux, by one
// of a few event loops (loops); where a request is overdue when an answer is complete, the reader
// sends it at once. Requests are bytes that were made beforehand, and answers are parsed and
// thrown away without allocating: net/http's client takes several times the CPU time per
// request, which on a shared machine would be taken from the server.
//
// From the top down: Session has connections, one for each connection at a time. A lane has slots, one
// for each request at a time, and the link that it sends through. A run gives all, which are
// requests that fall due, to slots that are free. Only who holds a lane's lock ends a request.
//
// A Session keeps its connections open between spans of load, at no cost while it is idle.
// A Client runs sessions by orders from another process.
package load
