package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/carillon-scheduler/carillon/internal/archive/objectstore"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

var (
	// ErrNotFound: the bucket has no such object.
	ErrNotFound = errors.New("archive: no such object")
	// ErrDiffers: an object does not have the content that was written, or whose digest its entry has.
	ErrDiffers = errors.New("archive: the object has other content")
)

// Store says where the buckets of JetStream are.
type Store struct {
	JS    jetstream.JetStream
	Bus   bus.Bus
	Names subjects.Names
	// Replicas is how many servers keep a bucket of JetStream that is made here.
	Replicas int
	// Marks remembers the marks of folders; nil means that any folder will do.
	Marks Marks
}

// Bucket is an open archive. It is safe for concurrent use.
type Bucket struct {
	*blob.Bucket
	settle func(name string) error
	// check says whether what is missing may be missing because the bucket is not there; nil if that is known by other errors.
	check func() error
	// readable says whether the names behind a prefix can be listed; nil if lists have errors of their own.
	readable func(prefix string) error

	mu sync.Mutex
	// known are names of empty objects that have been written.
	known map[string]bool
}

// New returns an archive in a bucket. settle makes an object durable that has been written; nil if the store of the bucket does that.
func New(in *blob.Bucket, settle func(name string) error) *Bucket {
	return &Bucket{Bucket: in, settle: settle}
}

// Open opens a bucket by its URL. The URL of the installation's own bucket in JetStream is jetstream://. The caller closes the bucket.
func (s Store) Open(ctx context.Context, address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	switch u.Scheme {
	case "jetstream":
		name := u.Host
		if name == "" {
			name = s.Names.ArchiveBucket()
		}
		opened, err := objectstore.Open(ctx, s.JS, s.Bus, name, s.Replicas)
		if err != nil {
			return nil, err
		}
		return New(opened, nil), nil
	case "file":
		return openDir(ctx, u, s.Marks)
	case "s3", "azblob", "gs":
		return openCloud(ctx, u)
	}
	return nil, fmt.Errorf("archive: %q is not the URL of a bucket", u.Redacted())
}

// Put writes an object, and reads it back.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	if err := b.isThere(); err != nil {
		return err
	}
	if err := b.WriteAll(ctx, name, data, &blob.WriterOptions{ContentType: "application/json"}); err != nil {
		return fmt.Errorf("archive: write %s: %w", name, err)
	}
	if b.settle != nil {
		if err := b.settle(name); err != nil {
			return fmt.Errorf("archive: write %s: %w", name, err)
		}
	}
	read, err := b.Get(ctx, name)
	if err == nil && !bytes.Equal(read, data) {
		err = fmt.Errorf("%w: %s", ErrDiffers, name)
	}
	return err
}

// Get reads an object. The error is or wraps [ErrNotFound], or it is one of the store.
func (b *Bucket) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := b.ReadAll(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		if err := b.isThere(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	if errors.Is(err, objectstore.ErrDamaged) {
		return nil, fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: read %s: %w", name, err)
	}
	return data, nil
}

// isThere returns an error if the bucket is not the one that was opened.
func (b *Bucket) isThere() error {
	if b.check == nil {
		return nil
	}
	return b.check()
}

// Days returns the days of which a namespace has entries, the newest first.
func (b *Bucket) Days(ctx context.Context, namespace string) (days []string, err error) {
	all, err := b.labels(ctx, daysPrefix(namespace))
	for _, day := range slices.Backward(all) {
		if _, err := ParseDay(day); err == nil {
			days = append(days, day)
		}
	}
	return days, err
}

// Types returns the types of which a namespace has entries on a day, as tokens, in their order. The entries of a day are to be listed type by type: the
// stores disagree about the order of names whose folders begin alike.
func (b *Bucket) Types(ctx context.Context, namespace, day string) ([]string, error) {
	return b.labels(ctx, typesPrefix(namespace, day))
}

// Hours returns the hours of which a namespace has entries on a day, of the type with a token, in their order: 00 to 23, in UTC.
func (b *Bucket) Hours(ctx context.Context, namespace, day, typeToken string) ([]string, error) {
	return b.labels(ctx, hoursPrefix(namespace, day, typeToken))
}

// labels returns what the empty objects behind a prefix say, in its order.
func (b *Bucket) labels(ctx context.Context, prefix string) (all []string, err error) {
	err = b.each(ctx, prefix, func(name string) {
		if label, ok := strings.CutSuffix(name[len(prefix):], extension); ok && !strings.Contains(label, "/") {
			all = append(all, label)
		}
	})
	slices.Sort(all)
	return all, err
}

// each calls do with all names behind a prefix.
func (b *Bucket) each(ctx context.Context, prefix string, do func(name string)) error {
	if err := b.isReadable(prefix); err != nil {
		return err
	}
	objects := b.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return b.isThere()
		}
		if err != nil {
			return fmt.Errorf("archive: list %s: %w", prefix, err)
		}
		do(object.Key)
	}
}

// Page returns a page of the objects behind a prefix, and the token of the next page, as ListPage does. What cannot be listed is an error, in a folder as well.
func (b *Bucket) Page(ctx context.Context, prefix string, token []byte, size int) (objects []*blob.ListObject, next []byte, err error) {
	if err := b.isReadable(prefix); err != nil {
		return nil, nil, err
	}
	if objects, next, err = b.ListPage(ctx, token, size, &blob.ListOptions{Prefix: prefix}); err != nil {
		return nil, nil, fmt.Errorf("archive: list %s: %w", prefix, err)
	}
	return objects, next, nil
}

// isReadable returns an error if a list would not have all names behind a prefix.
func (b *Bucket) isReadable(prefix string) error {
	if b.readable == nil {
		return nil
	}
	if err := b.readable(prefix); err != nil {
		return fmt.Errorf("archive: list %s: %w", prefix, err)
	}
	return nil
}

// FindHistory returns the name of the history of a run, and its ID; of the run of the workflow ID that ended last if the run ID is empty. The error is or
// wraps [ErrNotFound], or it is one of the store.
func (b *Bucket) FindHistory(ctx context.Context, namespace, workflowID, runID string) (name, id string, err error) {
	prefix, want, last := historiesPrefix(namespace, workflowID), Token(runID), time.Time{}
	if runID != "" {
		prefix = historyPrefix(namespace, workflowID, runID)
	}
	err = b.each(ctx, prefix, func(object string) {
		run, end, ok := parseHistoryName(historiesPrefix(namespace, workflowID), object)
		if ok && (runID == "" || run == want) && !end.Before(last) {
			name, id, last = object, run, end
		}
	})
	if err == nil && name == "" {
		err = fmt.Errorf("%w: a history of %s %s", ErrNotFound, workflowID, runID)
	}
	if plain, failed := subjects.Unescape(id); runID == "" && failed == nil {
		id = plain
	}
	return name, cmp.Or(runID, id), err
}

// Save writes an execution: its history, what says that there are entries like its own, and then its entry. Each is read back.
func (b *Bucket) Save(ctx context.Context, a *Archived) error {
	if err := b.Put(ctx, a.Entry.History, a.History); err != nil {
		return err
	}
	for _, name := range a.shelves {
		if b.isKnown(name) {
			continue
		}
		if err := b.Put(ctx, name, []byte("{}")); err != nil {
			return err
		}
		b.knows(name)
	}
	return b.Put(ctx, a.Object, a.Index)
}

// maxKnown is how many names a bucket remembers that it has written.
const maxKnown = 10_000

func (b *Bucket) isKnown(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[name]
}

func (b *Bucket) knows(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil || len(b.known) == maxKnown {
		b.known = map[string]bool{}
	}
	b.known[name] = true
}

// Entry reads the entry with a name.
func (b *Bucket) Entry(ctx context.Context, object string) (*Entry, error) {
	data, err := b.Get(ctx, object)
	if err != nil {
		return nil, err
	}
	return ParseEntry(data)
}

// Verify reads the history of an entry, and compares it with what the entry says. The error is or wraps [ErrNotFound], [ErrDiffers], or one of the
// store.
func (b *Bucket) Verify(ctx context.Context, e *Entry) error {
	return b.verify(ctx, e.History, e.Bytes, e.SHA256)
}

// VerifyEvents is Verify for events of a schedule.
func (b *Bucket) VerifyEvents(ctx context.Context, e *Events) error {
	return b.verify(ctx, e.Object, e.Bytes, e.SHA256)
}

func (b *Bucket) verify(ctx context.Context, name string, bytes int64, digest string) error {
	data, err := b.Get(ctx, name)
	if err == nil && (int64(len(data)) != bytes || Digest(data) != digest) {
		err = fmt.Errorf("%w: %s", ErrDiffers, name)
	}
	return err
}

// Verified is what the verification of some executions, or of some events of schedules, has found.
type Verified struct {
	// Executions is how many executions were read, and Events how many objects with events of schedules.
	Executions int       `json:"executions"`
	Events     int       `json:"events,omitempty"`
	Damaged    []Damaged `json:"damaged,omitempty"`
	// Next is the token of the next page; empty if there is none.
	Next []byte `json:"next,omitempty"`
}

// Damaged is an execution whose history or entry is not what was written, or a schedule whose events are not.
type Damaged struct {
	WorkflowID string `json:"workflowId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	ScheduleID string `json:"scheduleId,omitempty"`
	Reason     string `json:"reason"`
}
