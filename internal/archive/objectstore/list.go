package objectstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"gocloud.dev/blob/driver"
)

// defaultPage is how many objects a page has unless the caller says otherwise.
const defaultPage = 1000

// errEnded: a list has ended before its end.
var errEnded = errors.New("objectstore: the list has broken off")

// ListPaged implements driver.Bucket. A token is the last name of the page before.
func (b *bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	if opts.BeforeList != nil {
		if err := opts.BeforeList(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	all, err := b.named(ctx, opts.Prefix)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *driver.ListObject) int { return strings.Compare(a.Key, b.Key) })
	all = fold(all, opts.Prefix, opts.Delimiter)
	if after := string(opts.PageToken); after != "" {
		from, found := slices.BinarySearchFunc(all, after, func(o *driver.ListObject, key string) int { return strings.Compare(o.Key, key) })
		if found {
			from++
		}
		all = all[from:]
	}
	size := opts.PageSize
	if size == 0 {
		size = defaultPage
	}
	if len(all) <= size {
		return &driver.ListPage{Objects: all}, nil
	}
	return &driver.ListPage{Objects: all[:size], NextPageToken: []byte(all[size-1].Key)}, nil
}

// fold replaces the objects of each folder by the folder. The objects are in the order of their names.
func fold(all []*driver.ListObject, prefix, delimiter string) (folded []*driver.ListObject) {
	if delimiter == "" {
		return all
	}
	for _, object := range all {
		at := strings.Index(object.Key[len(prefix):], delimiter)
		if at < 0 {
			folded = append(folded, object)
			continue
		}
		folder := object.Key[:len(prefix)+at+len(delimiter)]
		if n := len(folded); n == 0 || folded[n-1].Key != folder {
			folded = append(folded, &driver.ListObject{Key: folder, IsDir: true})
		}
	}
	return folded
}

// named returns the objects whose names begin with a prefix, in any order.
func (b *bucket) named(ctx context.Context, prefix string) (all []*driver.ListObject, err error) {
	filter := jetstream.AllKeys
	if at := strings.LastIndexByte(prefix, '/'); at >= 0 {
		filter = keyOf(prefix[:at]) + "." + jetstream.AllKeys
	}
	watcher, err := b.names.Watch(ctx, filter, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = watcher.Stop() }() // an error means that it has ended
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case entry, ok := <-watcher.Updates():
			if !ok {
				return nil, errEnded
			}
			if entry == nil {
				return all, nil
			}
			if all, err = add(all, entry, prefix); err != nil {
				return nil, err
			}
		}
	}
}

// add adds the object of a key, if its name begins with a prefix.
func add(all []*driver.ListObject, entry jetstream.KeyValueEntry, prefix string) ([]*driver.ListObject, error) {
	name, err := nameOf(entry.Key())
	if err != nil || !strings.HasPrefix(name, prefix) {
		return all, err
	}
	a, err := read(entry.Key(), entry.Value())
	if err != nil {
		return all, err
	}
	return append(all, &driver.ListObject{Key: name, ModTime: a.Time, Size: a.Size, MD5: a.MD5}), nil
}
