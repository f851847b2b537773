package main

import "strings"

// minimise takes pieces out of a script for as long as keep holds: lines, statements, brackets, tokens. It asks keep at most
// budget times; the result always satisfies keep if src does.
func minimise(src string, budget int, keep func(src string) bool) string {
	ask := func(src string) bool {
		budget--
		return budget >= 0 && keep(src)
	}
	for {
		before := src
		src = thin(strings.SplitAfter(src, "\n"), ask)
		src = dropStatements(src, ask)
		src = unwrap(src, ask)
		src = thin(tokens(src), ask)
		if src == before || budget <= 0 {
			return src
		}
	}
}

// thin takes out runs of pieces, in ever shorter runs.
func thin(pieces []string, keep func(string) bool) string {
	for run := len(pieces); run >= 1; run /= 2 {
		for at := 0; at < len(pieces); {
			end := min(at+run, len(pieces))
			rest := append(append([]string(nil), pieces[:at]...), pieces[end:]...)
			if keep(strings.Join(rest, "")) {
				pieces = rest
			} else {
				at = end
			}
		}
	}
	return strings.Join(pieces, "")
}

// dropStatements takes out statements and groups of them, and puts the body of a statement in its place.
func dropStatements(src string, keep func(string) bool) string {
	list := tokens(src)
	for i := 0; i < len(list); i++ {
		if i > 0 && !strings.Contains(";{}", strings.TrimSpace(list[i-1])) {
			continue // no statement starts here
		}
		for _, rest := range withoutStatement(list, i) {
			if keep(strings.Join(rest, "")) {
				list = rest
				i--
				break
			}
		}
	}
	return strings.Join(list, "")
}

// withoutStatement lists what is left without the statement at i: up to the first semicolon or brace that may end it,
// or the second or third (a catch, an else), and with only the body between the first braces left of it.
func withoutStatement(list []string, i int) [][]string {
	var left [][]string
	var body []string
	for j := i; j < len(list) && len(left) < 6; j++ {
		token := strings.TrimSpace(list[j])
		if end := partner(list, j); end > 0 {
			if token == "{" && body == nil {
				body = list[j+1 : end]
			}
			j, token = end, strings.TrimSpace(list[end])
		} else if strings.Contains(")]}", token) {
			break // the block around it ends
		}
		if token == ";" || token == "}" {
			left = append(left, join(list[:i], list[j+1:]))
			if len(body) > 0 {
				left = append(left, join(list[:i], body, list[j+1:]))
			}
		}
	}
	return left
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}", "#{": "}"}

// unwrap takes out pairs of brackets, with what stands between them or without, or only what stands between them: none
// of these can go token by token without breaking the script in between.
func unwrap(src string, keep func(string) bool) string {
	list := tokens(src)
	for i := 0; i < len(list); i++ {
		j := partner(list, i)
		if j < 0 {
			continue
		}
		shorter := [][]string{
			join(list[:i], list[j+1:]),
			join(list[:i], list[i+1:j], list[j+1:]),
			join(list[:i+1], list[j:]),
		}
		for _, rest := range shorter {
			if len(rest) < len(list) && keep(strings.Join(rest, "")) {
				list = rest
				i = max(i-2, -1)
				break
			}
		}
	}
	return strings.Join(list, "")
}

// partner finds the bracket that closes the one at i, -1 where there is none.
func partner(list []string, i int) int {
	if closers[strings.TrimSpace(list[i])] == "" {
		return -1
	}
	var open []string
	for j := i; j < len(list); j++ {
		token := strings.TrimSpace(list[j])
		if closer := closers[token]; closer != "" {
			open = append(open, closer)
		} else if token == open[len(open)-1] {
			if open = open[:len(open)-1]; len(open) == 0 {
				return j
			}
		}
	}
	return -1
}

func join(parts ...[]string) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
