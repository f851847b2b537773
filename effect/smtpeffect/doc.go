// Package smtpeffect is the effect driver that sends mail. A payload is one
// mail:
//
//	{"to": ["ada@example.com"], "subject": "Your order", "text": "It is on its way."}
//
// The operator says where it goes and who may be written to; a payload cannot
// change that, nor write a header of its own: what has a line break in it is
// refused.
//
// A mail's Message-ID is made of the command id and the domain of its sender.
// It is the same for every attempt: when a connection breaks after the mail was
// handed over, nobody knows whether it was taken, it is sent again, and who
// gets both can tell that they are one.
package smtpeffect
