package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

const (
	// blockSide is how wide and high the pieces of a picture are, in pixels, of which the
	// colours are compared: in one of them a word, or another font, changes little.
	blockSide = 40
	// blockApart is how far the colours of two pieces may be from each other, of 255.
	blockApart = 20
	// grossly is the part of the pieces from which on a page looks other than it did.
	grossly = 0.08
)

// pictures holds the pages that docs/ shows against how they look now, or writes them.
func (n *node) pictures(b *chromiumtest.Browser, base string) {
	n.Helper()
	now := map[string][]byte{}
	for _, p := range []struct{ name, path, colours, says string }{{"console-flow", "c/1/flows/1", "light", "failed"},
		{"console-flow-dark", "c/1/flows/1", "dark", "failed"}, {"console-saga", "c/1/sagas/parcel/instance?id=ann", "light", "running"}} {
		b.See(1280, 600, p.colours)
		b.Do(chromedp.Navigate(base + p.path))
		b.Until(fmt.Sprintf(`document.readyState === "complete" && document.querySelector("h1").parentElement.innerText.includes(%q)`, p.says))
		now[p.name] = b.Picture()
		stored := filepath.Join("..", "..", "docs", p.name+".png")
		if *update {
			if err := os.WriteFile(stored, now[p.name], 0o644); err != nil {
				n.Fatal(err)
			}
			continue
		}
		was, err := os.ReadFile(stored)
		if err != nil {
			n.Fatal(err)
		}
		if part := apart(n, was, now[p.name]); part > grossly {
			n.Errorf("%s looks other than in docs/%s.png: %.0f %% of it. Look at it, and where it is meant to be so, write it anew (go test ./test/browser -update)",
				p.path, p.name, 100*part)
		} else {
			n.Logf("%s: %.1f %% of it looks other than in docs/%s.png", p.path, 100*part, p.name)
		}
	}
	if part := apart(n, now["console-flow"], now["console-flow-dark"]); part < 0.5 {
		n.Errorf("light and dark are called alike: %.0f %% differs", 100*part)
	}
}

// apart is which part of two pictures of one size has other colours.
func apart(t testing.TB, a, b []byte) float64 {
	t.Helper()
	x, y := blocks(t, a), blocks(t, b)
	if len(x) != len(y) {
		return 1
	}
	other := 0
	for i := range x {
		for c := range x[i] {
			if max(x[i][c], y[i][c])-min(x[i][c], y[i][c]) > blockApart {
				other++
				break
			}
		}
	}
	return float64(other) / float64(len(x))
}

// blocks are the mean colours of the pieces of a picture: red, green and blue, up to 255.
func blocks(t testing.TB, text []byte) (list [][3]int) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds()
	for y := size.Min.Y; y < size.Max.Y; y += blockSide {
		for x := size.Min.X; x < size.Max.X; x += blockSide {
			list = append(list, mean(picture, image.Rect(x, y, x+blockSide, y+blockSide).Intersect(size)))
		}
	}
	return list
}

func mean(picture image.Image, of image.Rectangle) (sum [3]int) {
	for y := of.Min.Y; y < of.Max.Y; y++ {
		for x := of.Min.X; x < of.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			sum[0], sum[1], sum[2] = sum[0]+int(r>>8), sum[1]+int(g>>8), sum[2]+int(b>>8)
		}
	}
	n := of.Dx() * of.Dy()
	return [3]int{sum[0] / n, sum[1] / n, sum[2] / n}
}
