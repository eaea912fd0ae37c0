package archival

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// marks implements archive.Marks with records of the cluster bucket.
type marks struct{ cluster *kv.Cluster }

// folderMark is the record of a folder.
type folderMark struct {
	Mark string `json:"mark"`
}

func (m marks) Mark(ctx context.Context, folder string) (string, error) {
	record, err := kv.GetJSON[folderMark](ctx, m.cluster, subjects.ArchiveFolderKey(folder))
	if errors.Is(err, kv.ErrNotFound) {
		return "", nil
	}
	return record.Value.Mark, err
}

func (m marks) Remember(ctx context.Context, folder, mark string) (string, error) {
	_, err := kv.PutJSON(ctx, m.cluster, subjects.ArchiveFolderKey(folder), &folderMark{mark}, 0)
	if errors.Is(err, kv.ErrConflict) {
		return m.Mark(ctx, folder)
	}
	return mark, err
}
