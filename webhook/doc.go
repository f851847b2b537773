// Package webhook has the addresses of a context at which programs outside start flows.
//
//	POST /v1/hooks/<context>/<name>
//	  the body is read, with a bound                     door/http
//	  the signature is checked                           [Store.Receive]; wrong or unknown: one answer, one cost
//	  so many a minute are taken                         [Store.Receive]
//	  when holds, and params are computed                [Store.Receive], Rhai
//	  whoever made the webhook may still make flows      service
//	  the flow is made, once for each id                 flow, by its trigger <name>.<id>
//
// # Who may
//
// A delivery has no token. It proves by its signature that it comes from who has the webhook's
// secret, in one of four ways (scheme.go). Whoever cannot learns nothing: an unknown context,
// an unknown name and a wrong signature have one answer and go the same way, with a decoy in
// place of the secret.
//
// Secrets lie on the webhook's record as those of contexts do: sealed by package secret, and
// never shown but in the answer that made them. A rotation leaves the one before valid for a
// while, so that nothing is lost while the sender is told.
//
// # Once
//
// The id of a delivery is part of its flow's trigger, and a blueprint has one flow of a trigger,
// ever, on the board and in the archive. So a delivery that comes again, because its answer was
// lost, because a node died or because somebody recorded it, finds its flow. The id is always
// something that the signature covers: where it covers the body alone, the body's sum.
//
// # What is known of it
//
// Counters and the last flow are written with the flow; what started nothing is gathered and
// written at most every [noteEvery] for each webhook, as strangers decide how often it happens.
//
// The package has no goroutines. See docs/decisions/0057.
package webhook
