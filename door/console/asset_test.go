package console

// Inside the package: what is embedded is looked at as it is.

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxAssets bounds the style sheet and the script together, compressed, in bytes.
const maxAssets = 60 << 10

func TestAssetsAreSmall(t *testing.T) {
	n := len(compressed(styleSheet)) + len(compressed(script))
	t.Logf("%d bytes", n)
	if n > maxAssets {
		t.Errorf("style sheet and script have %d bytes, the limit is %d", n, maxAssets)
	}
	for _, foreign := range []string{"http://", "https://", "url(", "@import"} {
		if strings.Contains(string(styleSheet), foreign) || strings.Contains(string(script), foreign) {
			t.Errorf("they have %q: all is to come from the node", foreign)
		}
	}
}

// TestContrast holds each colour against what it stands on, in both themes.
//
// Source: WCAG 2.2, 1.4.3 and 1.4.11.
func TestContrast(t *testing.T) {
	tokens := map[string][2]string{} // light, dark
	for _, m := range regexp.MustCompile(`--(\w+):light-dark\((#\w{6}),(#\w{6})\)`).FindAllStringSubmatch(string(styleSheet), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	if len(tokens) < 14 {
		t.Fatalf("got %d tokens", len(tokens))
	}
	for name, least := range map[string]float64{"text": 7, "soft": 4.5, "faint": 4.5, "accent": 4.5,
		waiting: 4.5, running: 4.5, succeeded: 4.5, failed: 4.5, errored: 4.5, skipped: 4.5, held: 4.5} {
		for theme := range 2 {
			for _, ground := range []string{"ground", "raised"} {
				if got := contrast(t, tokens[name][theme], tokens[ground][theme]); got < least {
					t.Errorf("%s on %s, theme %d: got %.2f, want %.1f", name, ground, theme, got, least)
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance is the relative luminance of a colour such as #2457d6.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	if len(colour) != 7 {
		t.Fatalf("%q is no colour", colour)
	}
	sum := 0.0
	for i, weight := range [...]float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
