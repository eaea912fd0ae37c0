package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/subjects"
)

const natsScheme = "nats://"

// host is the NATS that a run uses: a server of its own with its own folder, embedded or a process, or an existing server.
type host struct {
	external func(...nats.Option) (*nats.Conn, error)
	sync     natsserver.SyncMode
	log      *slog.Logger

	dir      string
	embedded *natsserver.Server

	// fenced are the names of the installation whose worker has an account of its own, nil for none.
	fenced *subjects.Names

	// children are the processes of the run, nil if it has none. url is the address of the NATS process, empty while there is
	// none.
	children *children
	url      string
	// roundTrip is the shortest time of an answer of NATS to the roles. distance enforces it; nil if it is zero.
	roundTrip time.Duration
	distance  *distance
}

// openHost makes the data folder and starts a server, unless an existing one is to be used. fail breaks the run off if one of
// its processes ends.
func openHost(ctx context.Context, c *Config, fail context.CancelCauseFunc) (*host, error) {
	h := &host{external: c.Dial, sync: c.Sync, log: c.Logger, dir: c.Dir, roundTrip: c.RoundTrip}
	if c.Worker == WorkerFenced {
		h.fenced = &c.Names
	}
	if h.external != nil {
		return h, nil
	}
	err := h.makeDir()
	if err == nil && c.Processes {
		if h.children, err = newChildren(c.Binary, fail); err == nil {
			h.children.scale = c.Scale
		}
	}
	if err == nil {
		err = h.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// makeDir makes a folder of its own in the requested one, or among the temporary files.
func (h *host) makeDir() error {
	var err error
	if h.dir != "" {
		err = os.MkdirAll(h.dir, 0o700)
	}
	if err == nil {
		h.dir, err = os.MkdirTemp(h.dir, "carillon-bench-")
	}
	if err != nil {
		return fmt.Errorf("bench: data folder: %w", err)
	}
	return nil
}

// searchOptions are the search options of a server: it keeps the search index with its other data.
func (h *host) searchOptions(names subjects.Names) roles.SearchOptions {
	if h.external != nil {
		return roles.SearchOptions{}
	}
	return roles.SearchOptions{Dir: filepath.Join(h.dir, "search", names.Prefix())}
}

// start starts the server.
func (h *host) start(ctx context.Context) (err error) {
	if h.children != nil {
		if h.url, err = h.children.startNATS(ctx, h.dir, h.sync); err != nil || h.roundTrip == 0 {
			return err
		}
		h.distance, err = newDistance(ctx, strings.TrimPrefix(h.url, natsScheme), h.roundTrip/2)
		return err
	}
	options := natsserver.Options{Dir: h.dir, Port: -1, Sync: h.sync, Logger: h.log}
	if h.fenced != nil {
		if options.ConfigFile, err = fenceConfig(h.dir, *h.fenced); err != nil {
			return err
		}
	}
	h.embedded, err = natsserver.Start(ctx, options)
	return err
}

// stop stops the server. Its data stays.
func (h *host) stop() {
	if h.children != nil {
		h.children.stop(processNATS)
	}
	if h.distance != nil {
		h.distance.close()
		h.distance = nil
	}
	if h.embedded != nil {
		h.embedded.Shutdown()
		h.embedded = nil
	}
}

// dial connects as a client would.
func (h *host) dial(options ...nats.Option) (*nats.Conn, error) {
	if h.embedded != nil {
		return h.embedded.Connect(options...)
	}
	if h.url != "" {
		return nats.Connect(h.url, options...)
	}
	return h.external(options...)
}

// roleURL is where the process of a role finds NATS; at a distance, if there is to be one.
func (h *host) roleURL() string {
	if h.distance != nil {
		return natsScheme + h.distance.address()
	}
	return h.url
}

// dialAsRole connects as a role does.
func (h *host) dialAsRole(options ...nats.Option) (*nats.Conn, error) {
	if h.distance != nil {
		return nats.Connect(h.roleURL(), options...)
	}
	return h.dial(options...)
}

// close stops the server and removes its data.
func (h *host) close() error {
	h.stop()
	if h.children != nil {
		h.children.close()
	}
	if h.external != nil {
		return nil
	}
	return os.RemoveAll(h.dir)
}

// disk is how many bytes the data takes: the size of the files, or for an existing server what it says of the streams.
func (h *host) disk(streams traffic) (int64, error) {
	if h.external != nil {
		return int64(streams.bytes), nil
	}
	var bytes int64
	err := filepath.WalkDir(h.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return ignoreGone(err)
	})
	if err != nil {
		return 0, fmt.Errorf("bench: size of the data: %w", err)
	}
	return bytes, nil
}

// ignoreGone ignores files that a running server removes meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clear removes the streams of an installation from a server that stays.
func (h *host) clear(ctx context.Context, js jetstream.JetStream, names subjects.Names, shards int) error {
	if h.external == nil || js == nil {
		return nil
	}
	var errs []error
	for name := range streamKinds(names, shards) {
		if err := js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			errs = append(errs, fmt.Errorf("bench: remove stream %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
