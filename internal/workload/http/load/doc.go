// Package load generates HTTP load and measures response times: HTTP/1.1, HTTP/2 (over TLS with ALPN, or
// without TLS with prior knowledge) and gRPC unary calls.
//
// # What is measured
//
// In an open loop every request has an intended time, from a constant or a Poisson process. The intended time
// does not depend on the server. The latency runs from the intended time to the last byte of the response. A
// stall of the server therefore lengthens the latency of all requests that fall due during the stall, not
// only of the requests under way. A closed loop does not send the requests that would have fallen due. This
// error is called coordinated omission (G. Tene, How NOT to Measure Latency, 2013).
//
// The time to first byte begins with the latency, and ends with the first byte of the response.
//
// A closed loop has a number of workers. Each worker sends its next request when its last request is
// answered. The latency runs from the time of sending. Closed loops exist for comparison with other tools
// that send in closed loops.
//
// Two parts of an open loop's latency are also recorded apart. Waited is the time in which all connections
// were busy although a request was due. Its cause is the server, or too few connections. Lag is the time by
// which the generator was late although a connection was free. Lag must be small compared with the latency.
// Otherwise the result does not describe the server.
//
// Every request that falls due within the measured time ends exactly once: as OK, or as an error of one
// kind. No request is left out.
//
// # How it works
//
// One goroutine, the pacer, sleeps until the next request is due (package pause). It writes the request to the
// connection that has been free for longest. Each connection has a goroutine that reads. Without TLS over
// HTTP/1.1 on Linux, a few event loops read all connections instead (eventLoops). If a request is overdue when
// a response is complete, the reader sends that request at once.
//
// Requests are encoded beforehand, and responses are parsed without allocating memory. The client of net/http
// takes several times the CPU time per request, which a server on the same machine would lack.
//
// A session has connections, which stay open between spans of load. Each connection has slots, and a link: its
// current network connection. A slot carries one request at a time. An activeSpan is a span of load under way.
// It hands each due request to a free slot. A Client runs sessions for another process.
package load
