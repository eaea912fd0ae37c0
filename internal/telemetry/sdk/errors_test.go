package sdk

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestErrorLogIsNoFlood(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	log := newErrorLog(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	logged := func() int { return strings.Count(out.String(), "cannot be exported") }
	log.Handle(nil)
	assert.Zero(t, logged())
	for range 100 {
		log.Handle(errors.New("refused"))
	}
	assert.Equal(t, 1, logged(), "the first at once")
	now = now.Add(errorInterval)
	log.Handle(errors.New("refused again"))
	assert.Equal(t, 2, logged())
	assert.Contains(t, out.String(), "left_out=99")
	log.Handle(errors.New("refused"))
	assert.Equal(t, 2, logged())
}
