package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// Format is the version of the layout of a backup.
	Format = 1

	manifestFile = "manifest.json"
	// manifestSum holds the SHA-256 of the manifest, in the form that sha256sum --check reads.
	manifestSum = "manifest.json.sha256"
)

// Manifest describes the contents of a backup.
type Manifest struct {
	// Format is the version of the layout of the backup, FormatVersion the version of what Carillon stores.
	Format        int `json:"format"`
	FormatVersion int `json:"formatVersion"`
	// Version is the version of the program that made the backup.
	Version  string `json:"version"`
	Prefix   string `json:"prefix"`
	Shards   int    `json:"shards"`
	Replicas int    `json:"replicas"`
	// Begun is when the backup began, Moment when it had everything. It does not contain what happened after Moment.
	Begun   time.Time `json:"begun"`
	Moment  time.Time `json:"moment"`
	Streams []Stream  `json:"streams"`
}

// Stream is one stream of a backup.
type Stream struct {
	Name string `json:"name"`
	// Config and State are what the server returned with the snapshot, and requires at the restore.
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
	// Messages is how many messages the stream had when its snapshot began.
	Messages uint64 `json:"messages"`
	// Snapshot is the archive from the server, Tail what came after it.
	Snapshot File `json:"snapshot"`
	Tail     File `json:"tail"`
	// TailMessages is how many messages Tail has.
	TailMessages int `json:"tailMessages"`
}

// File is one file of a backup, in its folder.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Bytes is the size of all files together.
func (m *Manifest) Bytes() int64 {
	var sum int64
	for i := range m.Streams {
		sum += m.Streams[i].Snapshot.Bytes + m.Streams[i].Tail.Bytes
	}
	return sum
}

func (m *Manifest) stream(name string) (*Stream, error) {
	for i := range m.Streams {
		if m.Streams[i].Name == name {
			return &m.Streams[i], nil
		}
	}
	return nil, damaged("the manifest does not list the stream %s", name)
}

// has reports whether the backup has a stream.
func (m *Manifest) has(name string) bool {
	return slices.ContainsFunc(m.Streams, func(s Stream) bool { return s.Name == name })
}

// restorable returns the streams to restore from the backup. An earlier release did not have some of them. If all others are in
// the backup, those are created empty. Completions were in the task streams then, and are taken from there as well.
func (m *Manifest) restorable(names subjects.Names) []string {
	later := []string{names.ProgressStream(), names.WorkerDeadLetterStream(), names.BacklogStream(), names.HeartbeatStream()}
	for shard := range m.Shards {
		later = append(later, names.CallbackStream(shard), names.JournalStream(shard))
	}
	return slices.DeleteFunc(streamNames(names, m.Shards), func(name string) bool { return slices.Contains(later, name) && !m.has(name) })
}

func damaged(format string, args ...any) error {
	return schedule.Errorf(schedule.CodeFailedPrecondition, "the backup is damaged: "+format, args...)
}

// writer writes one file of a backup, and computes its size and sum meanwhile.
type writer struct {
	file  *os.File
	out   *bufio.Writer
	hash  hash.Hash
	bytes int64
}

func newWriter(dir, name string) (*writer, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &writer{file: file, out: bufio.NewWriterSize(file, 1<<20), hash: sha256.New()}, nil
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.hash.Write(p[:n])
	w.bytes += int64(n)
	return n, err
}

// close ensures that the file is on the disk.
func (w *writer) close() (File, error) {
	err := errors.Join(w.out.Flush(), w.file.Sync(), w.file.Close())
	return File{Name: filepath.Base(w.file.Name()), Bytes: w.bytes, SHA256: hex.EncodeToString(w.hash.Sum(nil))}, err
}

// writeFile writes one file of a backup with a function. The file is closed in any case.
func writeFile(dir, name string, write func(io.Writer) error) (File, error) {
	w, err := newWriter(dir, name)
	if err != nil {
		return File{}, err
	}
	err = write(w)
	file, closing := w.close()
	return file, errors.Join(err, closing)
}

func writeManifest(dir string, m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	file, err := writeFile(dir, manifestFile, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	_, err = writeFile(dir, manifestSum, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %s\n", file.SHA256, manifestFile)
		return err
	})
	return err
}

// Read reads the manifest of a backup and checks every file. The error has CodeFailedPrecondition if the folder holds no backup,
// one of another format, or a damaged one.
func Read(dir string) (*Manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "%s holds no backup: it has no %s", dir, manifestFile)
	}
	if err != nil {
		return nil, err
	}
	// Check the format first, because a later format may look different.
	var m Manifest
	if err := json.Unmarshal(text, &struct {
		Format *int `json:"format"`
	}{&m.Format}); err != nil {
		return nil, damaged("%s cannot be read: %v", manifestFile, err)
	}
	if m.Format != Format {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition,
			"%s holds a backup of format %d, and this program knows format %d", dir, m.Format, Format)
	}
	if err := checkManifest(dir, text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, damaged("%s cannot be read: %v", manifestFile, err)
	}
	return &m, m.check(dir)
}

func checkManifest(dir string, text []byte) error {
	sum, err := os.ReadFile(filepath.Join(dir, manifestSum))
	if err != nil {
		return damaged("%v", err)
	}
	have := sha256.Sum256(text)
	if string(sum) != hex.EncodeToString(have[:])+"  "+manifestFile+"\n" {
		return damaged("%s has another SHA-256 than %s says", manifestFile, manifestSum)
	}
	return nil
}

func (m *Manifest) check(dir string) error {
	if m.FormatVersion != topology.FormatVersion {
		return schedule.Errorf(schedule.CodeFailedPrecondition,
			"the backup has been made by Carillon %s, which stores format version %d, and this program knows version %d",
			m.Version, m.FormatVersion, topology.FormatVersion)
	}
	names, err := m.names()
	if err != nil {
		return err
	}
	for _, name := range m.restorable(names) {
		stream, err := m.stream(name)
		if err != nil {
			return err
		}
		for _, file := range []File{stream.Snapshot, stream.Tail} {
			if err := file.check(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Manifest) names() (subjects.Names, error) { return subjects.New(m.Prefix) }

func (f *File) check(dir string) error {
	file, err := f.open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged("%s is missing", f.Name)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	switch {
	case err != nil:
		return err
	case n != f.Bytes:
		return damaged("%s has %d bytes and should have %d", f.Name, n, f.Bytes)
	case hex.EncodeToString(hash.Sum(nil)) != f.SHA256:
		return damaged("%s has another SHA-256 than when it was made", f.Name)
	}
	return nil
}

// open opens the file. It never opens one outside the folder.
func (f *File) open(dir string) (*os.File, error) {
	return os.Open(filepath.Join(dir, filepath.Base(f.Name)))
}

// streamNames returns the names of the streams of an installation, in the order in which a backup copies them. Large streams that
// only grow are first. Start requests are last, because those that are done meanwhile must be removed again.
func streamNames(names subjects.Names, shards int) []string {
	all := []string{
		names.EventStream(), names.DeadLetterStream(), names.WorkerDeadLetterStream(), names.ControlStream(), names.ProgressStream(),
		names.BacklogStream(), names.HeartbeatStream(),
	}
	for shard := range shards {
		all = append(all, names.JournalStream(shard), names.CallbackStream(shard), names.TaskStream(shard))
	}
	return append(append(all, bucketStreams(names, shards)...), names.ActionStream())
}

func bucketStreams(names subjects.Names, shards int) []string {
	all := names.Buckets(shards)
	for i, bucket := range all {
		all[i] = subjects.BucketStream(bucket)
	}
	return all
}
