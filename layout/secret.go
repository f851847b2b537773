package layout

// SecretPrefix begins the keys of the records of a context's secrets, in its own space.
const SecretPrefix = "ramet:secret:"

// Secret is the record of a context's secret.
func Secret(name string) string { return SecretPrefix + name }

// Its fields.
const (
	SecretSealed = "sealed" // the value, encrypted, in base64
	SecretKey    = "key"    // the operator's secret with which it is; "": the node's own key
	SecretSetMs  = "set_ms"
	SecretBy     = "by" // who set it
)
