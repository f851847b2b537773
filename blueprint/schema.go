package blueprint

// Schema is the JSON Schema (2020-12) of a blueprint's file: what editors
// complete, explain and underline by. It cannot say all that Parse refuses.
func Schema() []byte { return aBlueprint.Schema() }
