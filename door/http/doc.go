// Package http is the HTTP door: it translates between net/http and the table
// of operations in api, and has no rules of its own.
//
//	GET  /health /ready /info     for everybody: no secrets there; /info says more to who has a token
//	POST /admin/drain /reload     operations of the node's operator
//	GET  /metrics                 Prometheus; with a token or the cookie unless configured open
//	POST /v1/hooks/...            deliveries to webhooks, which bring a signature; see hook.go
//	     /v1/...                  the operations, with a token or the cookie
//	     /console/...             the pages of package console, with a session of theirs; see [Console]
//
// # Who calls
//
// A caller sends a bearer token (identity.Mint), or at the local socket the
// node's cookie (cookie.Cookie), which makes it the operator. The kernel then
// says whose process it is: the node's own user and root are let in, others are
// refused whatever they show. That alone is no proof, for scripts run as the
// node's user.
//
// # What comes in
//
// Bodies are strict JSON: at most [MaxBody] bytes and [MaxDepth] deep, valid
// UTF-8, no field that the operation does not know, nothing behind the end.
// Query parameters that nobody knows are refused too: a misspelt filter must
// not look like one that matched everything.
//
// A request that creates may have an Idempotency-Key: sent again by the same actor
// within 24 hours it creates nothing more, whether its answer was lost or not. The
// answer of the first is given again, with Idempotency-Replayed, or the request is
// done again under the names that were settled before. Another request under the
// key is a conflict.
//
// # What goes out
//
// JSON; errors as problem documents (RFC 9457) with a stable code. Every
// answer has X-Request-Id. With "Accept: text/event-stream" the operations that
// can be followed answer with server-sent events: comments keep the line open,
// Last-Event-ID goes on where a stream broke, the event "end" is the last.
//
// # Goroutines
//
// Serve has those of net/http, and one for each stream, which keeps the line
// open and writes what has gathered. All have ended when it returns.
//
// On a panic the caller gets a problem with the request's id, the log the stack.
package http
