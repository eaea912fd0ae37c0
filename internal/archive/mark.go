package archive

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
)

// markFile is the object in the root of a bucket that has its mark. In a folder, it is a file.
const markFile = ".carillon-archive"

// Mark returns the mark of the bucket: a text that no other bucket has. A bucket that was emptied, or removed and made anew, has another one, or none. Mark
// returns an empty text if there is none, if it is damaged, or if the bucket is not there. Errors are those of the store.
func (b *Bucket) Mark(ctx context.Context) (string, error) {
	data, err := b.Get(ctx, markFile)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDiffers) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// MakeMark gives the bucket a new mark, instead of the one that it has, and returns it.
func (b *Bucket) MakeMark(ctx context.Context) (string, error) {
	mark := uuid.NewString()
	return mark, b.Put(ctx, markFile, []byte(mark+"\n"))
}
