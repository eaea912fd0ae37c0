package zonedata

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for zones.zip
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// VersionEntry is the name of the entry of a file that holds the version of the data, such as "2026f".
const VersionEntry = "+VERSION"

// Unknown is the version of data that does not name one.
const Unknown = "unknown"

// ErrUnknownZone is the error of Load for a name that the data does not have.
var ErrUnknownZone = errors.New("zonedata: unknown time zone")

//go:embed zones.zip
var embedded []byte

// Data is one edition of the time zone database. It never changes and is safe for concurrent use.
type Data struct {
	version, source string
	names           []string // in order
	read            func(name string) ([]byte, error)
	// loaded holds *zone by name. Only names that exist have an entry.
	loaded sync.Map
	digest func() string
}

type zone struct {
	location    *time.Location
	fingerprint func() string
}

var current atomic.Pointer[Data]

// Embedded returns the data that the binary carries.
var Embedded = sync.OnceValue(func() *Data {
	archive, err := zip.NewReader(bytes.NewReader(embedded), int64(len(embedded)))
	if err != nil {
		panic("zonedata: the embedded file cannot be read: " + err.Error())
	}
	data, err := fromZip(archive, "")
	if err != nil {
		panic("zonedata: the embedded file cannot be read: " + err.Error())
	}
	return data
})

// Current returns the data of this process: the data of the last Use, or else of the binary.
func Current() *Data {
	if data := current.Load(); data != nil {
		return data
	}
	return Embedded()
}

// Use makes data the data of the process; nil means the data of the binary. Specs that were compiled before keep their zones.
func Use(data *Data) { current.Store(data) }

func newData(version, source string, names []string, read func(string) ([]byte, error)) *Data {
	slices.Sort(names)
	d := &Data{version: cmp.Or(version, Unknown), source: source, names: names, read: read}
	d.digest = sync.OnceValue(d.sum)
	return d
}

// fromZip takes the zones from an archive. It reads a zone when it is requested.
func fromZip(archive *zip.Reader, source string) (*Data, error) {
	files, version := map[string]*zip.File{}, ""
	var names []string
	for _, file := range archive.File {
		switch {
		case file.FileInfo().IsDir():
		case file.Name == VersionEntry:
			text, err := contents(file)
			if err != nil {
				return nil, err
			}
			version = string(bytes.TrimSpace(text))
		default:
			files[file.Name] = file
			names = append(names, file.Name)
		}
	}
	return newData(version, source, names, func(name string) ([]byte, error) {
		file, ok := files[name]
		if !ok {
			return nil, ErrUnknownZone
		}
		return contents(file)
	}), nil
}

// maxEntry limits the size of one zone. The largest has 4 kB.
const maxEntry = 1 << 20

func contents(file *zip.File) ([]byte, error) {
	reader, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer reader.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(reader, maxEntry))
}

// Version returns the version of the data, such as "2026f", or Unknown.
func (d *Data) Version() string { return d.version }

// Source returns the path of the file of the data; empty for the data of the binary.
func (d *Data) Source() string { return d.source }

// Text returns the version, and the path of the data if it is not the data of the binary: "2026f", "2026g from
// /etc/carillon/zones.zip".
func (d *Data) Text() string {
	if d.source == "" {
		return d.version
	}
	return d.version + " from " + d.source
}

// Names returns the names of all zones, in order.
func (d *Data) Names() []string { return slices.Clone(d.names) }

// Load returns a zone by its exact name; "" and "UTC" are UTC. It returns the same *time.Location for a name each time. The error
// is ErrUnknownZone if there is no such name.
func (d *Data) Load(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	z, err := d.zone(name)
	if err != nil {
		return nil, err
	}
	return z.location, nil
}

func (d *Data) zone(name string) (*zone, error) {
	if known, ok := d.loaded.Load(name); ok {
		return known.(*zone), nil
	}
	content, err := d.read(name)
	if err != nil {
		return nil, err
	}
	location, err := time.LoadLocationFromTZData(name, content)
	if err != nil {
		return nil, err
	}
	z := &zone{location: location, fingerprint: sync.OnceValue(func() string { return fingerprint(location) })}
	known, _ := d.loaded.LoadOrStore(name, z)
	return known.(*zone), nil
}

// Fingerprint returns the fingerprint of a zone (see [fingerprint]) and remembers it; "" for UTC and for an unknown name.
func (d *Data) Fingerprint(name string) string {
	if name == "" || name == "UTC" {
		return ""
	}
	z, err := d.zone(name)
	if err != nil {
		return ""
	}
	return z.fingerprint()
}

// Digest returns twelve hexadecimal digits that are equal for data with the same rules, even if one is compiled in another way or
// corrects times before the year 2000. It takes some tens of milliseconds at first.
func (d *Data) Digest() string { return d.digest() }

// sum computes the digest. It does not keep the zones that it reads, because most are never used.
func (d *Data) sum() string {
	hash := sha256.New()
	known := map[[sha256.Size]byte]string{}
	for _, name := range d.names {
		content, err := d.read(name)
		if err != nil {
			continue
		}
		key := sha256.Sum256(content)
		if _, seen := known[key]; !seen { // all names of a zone have the same content
			if location, err := time.LoadLocationFromTZData(name, content); err == nil {
				known[key] = fingerprint(location)
			}
		}
		_, _ = hash.Write([]byte(name + " " + known[key] + "\n")) // it never fails
	}
	return hex.EncodeToString(hash.Sum(nil))[:fingerprintDigits]
}
