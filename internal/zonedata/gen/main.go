// Command gen makes zones.zip, the time zone data that the binary carries, from Debian's package tzdata:
//
//	go run ./gen -out zones.zip                 fetch the package by apt-get, as the machine is set up
//	go run ./gen -out zones.zip -package FILE   take this package file
//
// It needs apt-get (without -package), dpkg-deb and zic. The package holds the sources of all zones and of their earlier names,
// even if Debian ships the earlier names in tzdata-legacy. zic compiles both. The same package gives the same file.
//
// The program may import internal/zonedata, and nothing else of Carillon.
package main

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "zones.zip", "write the data to this `FILE`")
	pkg := flag.String("package", "", "take this package `FILE` instead of the newest that apt-get finds")
	flag.Parse()
	version, err := generate(*out, *pkg)
	if err != nil {
		log.Fatal("gen: ", err)
	}
	log.Printf("%s: version %s", *out, version)
}

func generate(out, pkg string) (version string, err error) {
	work, err := os.MkdirTemp("", "zonedata")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) //nolint:errcheck // it is a directory for temporary files
	if pkg == "" {
		if pkg, err = download(work); err != nil {
			return "", err
		}
	}
	unpacked, compiled := filepath.Join(work, "unpacked"), filepath.Join(work, "compiled")
	if err := run("", "dpkg-deb", "-x", pkg, unpacked); err != nil {
		return "", err
	}
	source := filepath.Join(unpacked, "usr/share/zoneinfo/tzdata.zi")
	if version, err = versionOf(source); err != nil {
		return "", err
	}
	// Not slim: zic 2.36 then leaves out changes that do not follow the rule of the last years, such as those of Asia/Gaza in
	// 2073.
	if err := run("", "zic", "-b", "fat", "-d", compiled, source); err != nil {
		return "", err
	}
	return version, pack(out, compiled, version)
}

// download fetches the newest package to a directory.
func download(dir string) (string, error) {
	if err := run(dir, "apt-get", "download", "tzdata"); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "tzdata_*.deb"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("apt-get has fetched %d packages, want one: %w", len(found), err)
	}
	return found[0], nil
}

func run(dir, name string, args ...string) error {
	command := exec.Command(name, args...)
	command.Dir, command.Stderr = dir, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// versionOf reads the first line of tzdata.zi, "# version 2026f".
func versionOf(source string) (string, error) {
	file, err := os.Open(source)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	line, err := bufio.NewReader(file).ReadString('\n')
	version, found := strings.CutPrefix(strings.TrimSpace(line), "# version ")
	if err != nil || !found {
		return "", fmt.Errorf("%s does not begin with its version", source)
	}
	return version, nil
}

// pack writes all files below a directory to a zip file, in order and without their times.
func pack(out, dir, version string) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(file)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	err = add(archive, zonedata.VersionEntry, []byte(version+"\n"))
	if err == nil {
		root := os.DirFS(dir)
		err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			return add(archive, name, content)
		})
	}
	if err == nil {
		err = archive.Close()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func add(archive *zip.Writer, name string, content []byte) error {
	w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}
