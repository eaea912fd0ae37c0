package chaos

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLedgers: ledgers are read as far as they have been written. Their writers may be killed over the last line.
func TestLedgers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	const begin, end = `{"at":"2030-01-01T00:00:00Z","request_id":"r"}` + "\n", `{"at":"2030-01-01T00:00:01Z","end":true,"request_id":"r"}`
	write("worker-0.0.jsonl", begin+end+"\n")
	write("worker-0.1.jsonl", begin+end[:20])
	write("worker-1.0.jsonl", "")
	notes, err := readLedgers(dir)
	require.NoError(t, err)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, []note{
		{Life: "worker-0.0", At: at, RequestID: "r"}, {Life: "worker-0.0", At: at.Add(time.Second), RequestID: "r", End: true},
		{Life: "worker-0.1", At: at, RequestID: "r"},
	}, notes)

	write("worker-1.0.jsonl", end[:20]+"\n"+begin)
	_, err = readLedgers(dir)
	require.ErrorContains(t, err, "worker-1.0.jsonl")
}
