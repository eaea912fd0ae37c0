package objectstore

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // gocloud.dev reports this digest; the object store has a better one
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

var (
	errNone        = errors.New("objectstore: no such object")
	errUnsupported = errors.New("objectstore: JetStream's object store does not have this")
	errExists      = errors.New("objectstore: there is an object with this name")
	errNoName      = errors.New("objectstore: an object needs a name")
)

// Open opens a bucket of JetStream's object store, and the key-value bucket with the names of its objects: NAME-names. It makes those that do not exist,
// with a number of replicas. Closing the bucket leaves the connection open.
func Open(ctx context.Context, js jetstream.JetStream, streams bus.Bus, name string, replicas int) (*blob.Bucket, error) {
	b, err := open(ctx, js, streams, name, replicas)
	if err != nil {
		return nil, err
	}
	return blob.NewBucket(b), nil
}

func open(ctx context.Context, js jetstream.JetStream, streams bus.Bus, name string, replicas int) (*bucket, error) {
	_, err := js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Description: "Carillon: archive", Replicas: replicas})
	}
	if err != nil {
		return nil, fmt.Errorf("objectstore: open %s: %w", name, err)
	}
	names, err := js.KeyValue(ctx, name+"-names")
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		names, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: name + "-names", Description: "Carillon: names of the objects in " + name, Replicas: replicas,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("objectstore: open %s-names: %w", name, err)
	}
	return &bucket{streams, name, names}, nil
}

// bucket implements driver.Bucket.
type bucket struct {
	bus   bus.Bus
	name  string
	names jetstream.KeyValue
}

// about is what the key of an object has as its value.
type about struct {
	Size        int64             `json:"size"`
	MD5         []byte            `json:"md5"`
	Type        string            `json:"type"`
	Cache       string            `json:"cache,omitempty"`
	Disposition string            `json:"disposition,omitempty"`
	Encoding    string            `json:"encoding,omitempty"`
	Language    string            `json:"language,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Time        time.Time         `json:"time"`
}

// keyOf is the key of an object: the parts of its name, escaped, as tokens. An empty part is "=".
func keyOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if parts[i] = subjects.Escape(part); part == "" {
			parts[i] = "="
		}
	}
	return strings.Join(parts, ".")
}

// nameOf reverses keyOf.
func nameOf(key string) (string, error) {
	parts := strings.Split(key, ".")
	for i, token := range parts {
		if token == "=" {
			parts[i] = ""
			continue
		}
		part, err := subjects.Unescape(token)
		if err != nil {
			return "", err
		}
		parts[i] = part
	}
	return strings.Join(parts, "/"), nil
}

// ErrorCode implements driver.Bucket.
func (*bucket) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, errNone):
		return gcerrors.NotFound
	case errors.Is(err, errUnsupported):
		return gcerrors.Unimplemented
	case errors.Is(err, errExists):
		return gcerrors.FailedPrecondition
	case errors.Is(err, errNoName):
		return gcerrors.InvalidArgument
	}
	return gcerrors.Unknown
}

// As implements driver.Bucket: there is no other type.
func (*bucket) As(any) bool { return false }

// ErrorAs implements driver.Bucket: there is no other type.
func (*bucket) ErrorAs(error, any) bool { return false }

// Close implements driver.Bucket. The connection stays open.
func (*bucket) Close() error { return nil }

// SignedURL implements driver.Bucket.
func (*bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnsupported
}

// about reads what the key of an object says.
func (b *bucket) about(ctx context.Context, name string) (about, error) {
	key, keys := keyOf(name), b.names.Bucket()
	m, err := b.bus.Last(ctx, subjects.BucketStream(keys), subjects.BucketSubject(keys, key))
	switch {
	case errors.Is(err, bus.ErrNone), err == nil && m.Header.Get("KV-Operation") != "": // it was removed
		return about{}, fmt.Errorf("%w: %s", errNone, name)
	case err != nil:
		return about{}, err
	}
	return read(key, m.Data)
}

func read(key string, value []byte) (a about, err error) {
	if err = json.Unmarshal(value, &a); err != nil {
		err = fmt.Errorf("objectstore: what is known of %s cannot be read: %w", key, err)
	}
	return a, err
}

// Attributes implements driver.Bucket.
func (b *bucket) Attributes(ctx context.Context, name string) (*driver.Attributes, error) {
	a, err := b.about(ctx, name)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{
		ContentType: a.Type, CacheControl: a.Cache, ContentDisposition: a.Disposition, ContentEncoding: a.Encoding, ContentLanguage: a.Language,
		Metadata: a.Metadata, CreateTime: a.Time, ModTime: a.Time, Size: a.Size, MD5: a.MD5, ETag: fmt.Sprintf("%q", hex.EncodeToString(a.MD5)),
	}, nil
}

// NewRangeReader implements driver.Bucket. It reads the whole object, whose digest JetStream checks.
func (b *bucket) NewRangeReader(ctx context.Context, name string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	a, err := b.about(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := b.content(ctx, name)
	if errors.Is(err, errNone) {
		err = b.lost(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	data = data[min(offset, int64(len(data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return &reader{bytes.NewReader(data), driver.ReaderAttributes{ContentType: a.Type, ModTime: a.Time, Size: a.Size}}, nil
}

// lost explains why an object whose name was there has no content. Whoever deletes an object removes its name first. So if that is still there, the content
// was lost: somebody has removed it, or all of the stream.
func (b *bucket) lost(ctx context.Context, name string) error {
	if _, err := b.about(ctx, name); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s has no content", ErrDamaged, name)
}

// reader implements driver.Reader.
type reader struct {
	*bytes.Reader
	attributes driver.ReaderAttributes
}

func (*reader) Close() error { return nil }

func (r *reader) Attributes() *driver.ReaderAttributes { return &r.attributes }

func (*reader) As(any) bool { return false }

// NewTypedWriter implements driver.Bucket. The object is sent when the writer is closed.
func (b *bucket) NewTypedWriter(ctx context.Context, name, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	if name == "" {
		return nil, errNoName
	}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	return &writer{ctx: ctx, to: b, name: name, contentType: contentType, options: opts}, nil
}

// writer implements driver.Writer.
type writer struct {
	bytes.Buffer
	ctx               context.Context //nolint:containedctx // the interface demands it
	to                *bucket
	name, contentType string
	options           *driver.WriterOptions
}

// Close implements driver.Writer: it writes the object.
func (w *writer) Close() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.options.IfNotExist {
		if _, err := w.to.about(w.ctx, w.name); err == nil {
			return errExists
		}
	}
	digest, o := md5.Sum(w.Bytes()), w.options //nolint:gosec // as above
	return w.to.put(w.ctx, w.name, w.Bytes(), about{
		Size: int64(w.Len()), MD5: digest[:], Type: w.contentType, Metadata: o.Metadata,
		Cache: o.CacheControl, Disposition: o.ContentDisposition, Encoding: o.ContentEncoding, Language: o.ContentLanguage,
	})
}

// put writes an object, then its name.
func (b *bucket) put(ctx context.Context, name string, data []byte, a about) error {
	if err := b.write(ctx, name, data); err != nil {
		return err
	}
	a.Time = time.Now().UTC() //permit:time.Now when it was written, for people
	value, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = b.names.Put(ctx, keyOf(name), value)
	return err
}

// Copy implements driver.Bucket.
func (b *bucket) Copy(ctx context.Context, to, from string, opts *driver.CopyOptions) error {
	if opts.BeforeCopy != nil {
		if err := opts.BeforeCopy(func(any) bool { return false }); err != nil {
			return err
		}
	}
	a, err := b.about(ctx, from)
	if err != nil {
		return err
	}
	data, err := b.content(ctx, from)
	if err != nil {
		return err
	}
	return b.put(ctx, to, data, a)
}

// Delete implements driver.Bucket.
func (b *bucket) Delete(ctx context.Context, name string, opts *driver.DeleteOptions) error {
	if opts.BeforeDelete != nil {
		if err := opts.BeforeDelete(func(any) bool { return false }); err != nil {
			return err
		}
	}
	if _, err := b.about(ctx, name); err != nil {
		return err
	}
	if err := b.names.Purge(ctx, keyOf(name)); err != nil {
		return err
	}
	return b.remove(ctx, name)
}
