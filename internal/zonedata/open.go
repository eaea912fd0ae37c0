package zonedata

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Open reads data from a zip file with one entry for each zone, such as Go's lib/time/zoneinfo.zip and our own zones.zip, or from
// a directory of compiled zones, such as /usr/share/zoneinfo. The entry or file "+VERSION" has the version of the data. If there
// is none, the first line of tzdata.zi has it ("# version 2026f").
//
// The data must have every name that the data of the binary has, because schedules may use them. The error is one line that names
// the path and the fault. Later changes below the path have no effect.
func Open(name string) (*Data, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	var data *Data
	if info.IsDir() {
		data, err = openDirectory(name)
	} else {
		data, err = openFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := data.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// maxFile limits the size of a file of data. A file of all zones has half a megabyte.
const maxFile = 64 << 20

func openFile(name string) (*Data, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("has %d bytes: a file of time zone data has less than %d", info.Size(), maxFile)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("is neither a zip file of compiled time zones nor a directory of them: %w", err)
	}
	return fromZip(archive, name)
}

// notZones are the entries of /usr/share/zoneinfo that are not zones: directories with all zones again, without and with leap
// seconds, and names with another meaning on each host.
var notZones = map[string]bool{"posix": true, "right": true, "localtime": true, "posixrules": true}

// openDirectory reads all files that begin like a compiled zone, because there are other files next to them.
func openDirectory(name string) (*Data, error) {
	root := os.DirFS(name)
	zones, version, size := map[string][]byte{}, "", 0
	var names []string
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && notZones[file]:
			return fs.SkipDir
		case entry.IsDir() || notZones[file]:
			return nil
		}
		content, err := readEntry(root, file)
		if err != nil {
			return err
		}
		if size += len(content); size > maxFile {
			return fmt.Errorf("has more than %d bytes: name the directory of the time zones", maxFile)
		}
		switch {
		case bytes.HasPrefix(content, []byte("TZif")):
			zones[file] = content
			names = append(names, file)
		case file == VersionEntry, file == "tzdata.zi" && version == "":
			version = versionIn(content)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newData(version, name, names, func(name string) ([]byte, error) {
		content, ok := zones[name]
		if !ok {
			return nil, ErrUnknownZone
		}
		return content, nil
	}), nil
}

// readEntry reads one file of a directory. It follows links, and returns nothing for a file that is not regular or too large.
func readEntry(root fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(root, file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEntry {
		return nil, nil //nolint:nilerr // a link that leads nowhere is no zone
	}
	return fs.ReadFile(root, path.Clean(file))
}

// versionIn returns the version that a file names in its first line.
func versionIn(content []byte) string {
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "# version "))
}

// check checks that every zone can be read, and that every name exists that schedules may use.
func (d *Data) check() error {
	have := make(map[string]bool, len(d.names))
	for _, name := range d.names {
		content, err := d.read(name)
		if err != nil {
			return fmt.Errorf("zone %s: %w", name, err)
		}
		if _, err := time.LoadLocationFromTZData(name, content); err != nil {
			return fmt.Errorf("%s is not a compiled time zone (RFC 9636)", name)
		}
		have[name] = true
	}
	var missing []string
	for _, name := range Embedded().names {
		if !have[name] {
			missing = append(missing, name)
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case len(Embedded().names):
		return fmt.Errorf("holds no time zones: name a zip file of compiled zones, or a directory such as /usr/share/zoneinfo")
	}
	return fmt.Errorf("lacks %d time zones that schedules may use, such as %s: take the full data, with the names of earlier "+
		"days (on Debian and Ubuntu the package tzdata-legacy has them)", len(missing), missing[0])
}
