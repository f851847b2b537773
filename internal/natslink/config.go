package natslink

import "fmt"

// ServerConfig is a part of a nats-server's configuration with these accounts.
func ServerConfig(maxPayload int, accounts ...string) string {
	text := fmt.Sprintf("# Written by ramet. The server needs besides: jetstream, a listener, TLS.\nmax_payload: %d\naccounts: {\n", maxPayload)
	for _, a := range accounts {
		text += a
	}
	return text + "}\n"
}
