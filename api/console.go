package api

// ConsoleLinkPath is where whoever may call operations gets a [ConsoleLink], by POST. It is
// no operation: what it changes is a browser's, and of the one node that is asked.
const ConsoleLinkPath = "/console/link"

// ConsoleLink is a way into the console for a browser: good once, and not for long.
type ConsoleLink struct {
	// URL is whole where the node knows how browsers reach it, else it begins with "/".
	URL string `json:"url"`
	// Seconds is how long it is good.
	Seconds int `json:"seconds"`
}
