package salscript

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxDownloadBytes bounds a download, and what an archive unpacks to, for jobs
// without a limit of file size.
const maxDownloadBytes = 8 << 30

func (h *host) downloadFunctions() []function {
	return []function{
		{"download", h.download}, {"download_file", h.downloadFile}, {"download_install", h.downloadInstall},
	}
}

// downloadFile fetches a file of at least so many KiB (0: of any size) to dest.
func (h *host) downloadFile(address, dest string, least int64) (string, error) {
	if err := webAddress(address); err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	req, err := http.NewRequestWithContext(h.ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", errors.New("download: the address cannot be used")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("download: %w", bare(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("download: the server says %s", resp.Status)
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	file, err := os.OpenFile(dest, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	n, err := copyBounded(file, resp.Body, h.mostBytes())
	if err = errors.Join(err, file.Close()); err == nil && n < least<<10 {
		err = fmt.Errorf("got %d bytes, want at least %d KiB", n, least)
	}
	if err != nil {
		os.Remove(dest)
		return "", fmt.Errorf("download: %w", err)
	}
	return dest, nil
}

func (h *host) mostBytes() int64 {
	if h.cfg.FileBytes > 0 {
		return h.cfg.FileBytes
	}
	return maxDownloadBytes
}

func copyBounded(to io.Writer, from io.Reader, most int64) (int64, error) {
	n, err := io.Copy(to, io.LimitReader(from, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return n, err
}

// download fetches a file into the folder dest, and unpacks it there when it is
// an archive (.tar, .tar.gz, .tgz, .zip). It gives the path of the file, or dest.
func (h *host) download(address, dest string, least int64) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("download: the address is no URL such as https://host/path")
	}
	name := path.Base(u.Path)
	if name == "/" || name == "." {
		name = "index.html"
	}
	file, err := h.downloadFile(address, filepath.Join(dest, name), least)
	if err != nil {
		return "", err
	}
	unpack := archiveOf(name)
	if unpack == nil {
		return file, nil
	}
	root, err := os.OpenRoot(dest)
	if err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	defer root.Close()
	if err := unpack(file, root, h.mostBytes()); err != nil {
		return "", fmt.Errorf("download: unpack %s: %w", name, err)
	}
	return dest, os.Remove(file)
}

func archiveOf(name string) func(file string, root *os.Root, most int64) error {
	switch {
	case strings.HasSuffix(name, ".zip"):
		return unzip
	case strings.HasSuffix(name, ".tar"), strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar.gz"):
		return untar
	}
	return nil
}

// untar unpacks folders and plain files; nothing leaves root, and links are
// left out.
func untar(file string, root *os.Root, most int64) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	var stream io.Reader = in
	if !strings.HasSuffix(file, ".tar") {
		if stream, err = gzip.NewReader(in); err != nil {
			return err
		}
	}
	for archive := tar.NewReader(stream); ; {
		entry, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch entry.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(entry.Name), 0o755)
		case tar.TypeReg:
			var n int64
			n, err = unpackFile(root, entry.Name, entry.FileInfo().Mode().Perm(), archive, most)
			most -= n
		}
		if err != nil {
			return err
		}
	}
}

func unzip(file string, root *os.Root, most int64) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, entry := range archive.File {
		switch mode := entry.Mode(); {
		case mode.IsDir():
			err = root.MkdirAll(filepath.Clean(entry.Name), 0o755)
		case mode.IsRegular():
			var in io.ReadCloser
			if in, err = entry.Open(); err != nil {
				return err
			}
			var n int64
			n, err = unpackFile(root, entry.Name, mode.Perm(), in, most)
			most -= n
			in.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func unpackFile(root *os.Root, name string, mode os.FileMode, from io.Reader, most int64) (int64, error) {
	name = filepath.Clean(name)
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode|0o600)
	if err != nil {
		return 0, err
	}
	n, err := copyBounded(file, from, most)
	return n, errors.Join(err, file.Close())
}

// downloadInstall fetches a Debian package and installs it.
func (h *host) downloadInstall(address string, least int64) (string, error) {
	if err := h.available("apt-get"); err != nil {
		return "", err
	}
	file, err := h.downloadFile(address, filepath.Join(os.TempDir(), "download.deb"), least)
	if err != nil {
		return "", err
	}
	if _, err := h.outputWith(aptEnv, "apt-get", "install", "-y", "--", file); err != nil {
		return "", err
	}
	return "Successfully installed " + path.Base(address), nil
}
