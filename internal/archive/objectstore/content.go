package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The client of NATS writes and reads objects, too. It does so through subscriptions of its own for each object, some of which outlive it, and it reads
// from any replica. What is here makes the same messages.

// chunk is how many bytes of an object one message has, as everywhere in NATS.
const chunk = 128 << 10

// forgetLimit bounds the removal of chunks after a failure.
const forgetLimit = 2 * time.Second

// ErrDamaged: the content of an object does not have the digest that was stored with it.
var ErrDamaged = errors.New("objectstore: the object is damaged")

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:])
}

// write writes an object: its chunks, then what is known of it. Then it removes the chunks that it had before.
func (b *bucket) write(ctx context.Context, name string, data []byte) error {
	before, err := b.meta(ctx, name)
	if err != nil && !errors.Is(err, errNone) && !errors.Is(err, ErrDamaged) {
		return err
	}
	info := &jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}},
		Bucket:     b.name, NUID: nuid.Next(), Size: uint64(len(data)), Digest: digestOf(data),
	}
	for from := 0; from < len(data); from += chunk {
		m := &nats.Msg{Subject: subjects.ObjectChunks(b.name, info.NUID), Data: data[from:min(from+chunk, len(data))]}
		if err := b.bus.Publish(ctx, m); err != nil {
			return errors.Join(err, b.forget(ctx, info.NUID))
		}
		info.Chunks++
	}
	if err := b.publishMeta(ctx, info); err != nil {
		return err // it may have been stored nevertheless
	}
	if before == nil {
		return nil
	}
	return b.bus.Purge(ctx, subjects.ObjectStream(b.name), subjects.ObjectChunks(b.name, before.NUID))
}

// forget removes the chunks of a write that has failed, although its context may have ended.
func (b *bucket) forget(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	return b.bus.Purge(ctx, subjects.ObjectStream(b.name), subjects.ObjectChunks(b.name, id))
}

// publishMeta stores what is known of an object, instead of what was known.
func (b *bucket) publishMeta(ctx context.Context, info *jetstream.ObjectInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return b.bus.Publish(ctx, &nats.Msg{
		Subject: subjects.ObjectMeta(b.name, info.Name), Data: data, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
	})
}

// meta reads what is known of an object. The error is or wraps errNone if there is none.
func (b *bucket) meta(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	m, err := b.bus.Last(ctx, subjects.ObjectStream(b.name), subjects.ObjectMeta(b.name, name))
	if errors.Is(err, bus.ErrNone) {
		return nil, fmt.Errorf("%w: %s", errNone, name)
	}
	if err != nil {
		return nil, err
	}
	info := &jetstream.ObjectInfo{}
	if err := json.Unmarshal(m.Data, info); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	if info.Deleted {
		return nil, fmt.Errorf("%w: %s", errNone, name)
	}
	return info, nil
}

// content reads an object, and checks its digest.
func (b *bucket) content(ctx context.Context, name string) ([]byte, error) {
	info, err := b.meta(ctx, name)
	if err != nil {
		return nil, err
	}
	var data []byte
	for next := uint64(1); uint64(len(data)) < info.Size; {
		m, err := b.bus.Next(ctx, subjects.ObjectStream(b.name), subjects.ObjectChunks(b.name, info.NUID), next)
		if errors.Is(err, bus.ErrNone) {
			return nil, fmt.Errorf("%w: %s has %d of %d bytes", ErrDamaged, name, len(data), info.Size)
		}
		if err != nil {
			return nil, err
		}
		data, next = append(data, m.Data...), m.Sequence+1
	}
	if digestOf(data) != info.Digest {
		return nil, fmt.Errorf("%w: %s", ErrDamaged, name)
	}
	return data, nil
}

// remove removes an object.
func (b *bucket) remove(ctx context.Context, name string) error {
	info, err := b.meta(ctx, name)
	if errors.Is(err, errNone) {
		return nil
	}
	if err != nil {
		return err
	}
	gone := *info
	gone.Deleted, gone.Size, gone.Chunks, gone.Digest = true, 0, 0, ""
	if err := b.publishMeta(ctx, &gone); err != nil {
		return err
	}
	return b.bus.Purge(ctx, subjects.ObjectStream(b.name), subjects.ObjectChunks(b.name, info.NUID))
}
