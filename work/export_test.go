package work

// ChecksContext is how many jobs of a context have their addresses looked at within the time of a look.
const ChecksContext = checksContext

// LoginIn is loginIn.
var LoginIn = loginIn
