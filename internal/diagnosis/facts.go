package diagnosis

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// Facts are what there is to know about an installation at one moment. What could not be found out is among Problems.
type Facts struct {
	// Time is when they were gathered, by the clock of this machine.
	Time time.Time `json:"time"`
	// Prefix begins all names of the installation.
	Prefix string `json:"prefix"`
	NATS   NATS   `json:"nats"`
	// Cluster is nil where nobody has initialised an installation of this prefix, and where Unreadable says why it is not known
	// whether somebody has.
	Cluster    *topology.Facts `json:"cluster,omitempty"`
	Unreadable string          `json:"unreadable,omitempty"`
	Namespaces int             `json:"namespaces"`
	// Streams are those of the installation, buckets first, in order. One that is not there is among them.
	Streams   []Stream   `json:"streams"`
	Frontends []Frontend `json:"frontends"`
	// Processes are those that answer, apart from workers; those of releases that know nothing of the question do not.
	Processes []presence.Process `json:"processes"`
	// Queues are the task queues that have runs or had workers.
	Queues []Queue `json:"taskQueues"`
	// Problems say what could not be found out, for people.
	Problems []string `json:"problems,omitempty"`
}

// NATS is what is known of the server and the account.
type NATS struct {
	URL     string `json:"url"`
	Server  string `json:"server"`
	Version string `json:"version"`
	// Cluster is the name of the cluster of servers; empty for a server on its own. Servers are those that it says there are.
	Cluster string   `json:"cluster,omitempty"`
	Servers []string `json:"servers,omitempty"`
	// Others are those that could be connected to in the same way, beside the one of URL.
	Others []Server `json:"others,omitempty"`
	// JetStream says that the account may use JetStream. The fields below are known only then.
	JetStream bool `json:"jetStream"`
	// Unanswered is why JetStream did not say how the account is; empty if it did.
	Unanswered string `json:"unanswered,omitempty"`
	// Stored and StoreLimit are in bytes; a limit of -1 means that there is none.
	Stored     int64 `json:"stored"`
	StoreLimit int64 `json:"storeLimit"`
	// Skew is how far the clock of the servers is ahead of the one here, about half of RoundTrip more or less.
	Skew      time.Duration `json:"skewNanoseconds"`
	RoundTrip time.Duration `json:"roundTripNanoseconds"`
}

// Server is a NATS server.
type Server struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

// Stream is a stream of the installation, or the one that a bucket is made of.
type Stream struct {
	Name string `json:"name"`
	// Bucket is the name of the bucket; empty for a stream.
	Bucket string `json:"bucket,omitempty"`
	// Missing says that it is not there; the other fields are empty then. Unfit says that it is not as it must be.
	Missing bool `json:"missing,omitempty"`
	// Refused is why it takes no writes, in the words of NATS; empty if it takes them, or that is not known.
	Refused  string `json:"refused,omitempty"`
	Unfit    bool   `json:"unfit,omitempty"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	// MaxBytes is -1 where there is no limit.
	MaxBytes int64 `json:"maxBytes"`
	// Rolls says that it is made with a limit beyond which the oldest goes, which does no harm.
	Rolls bool `json:"rolls,omitempty"`
	// First is when the oldest message was stored; zero where there is none. MaxAge is 0 for ever.
	First    time.Time     `json:"first,omitzero"`
	MaxAge   time.Duration `json:"maxAgeNanoseconds,omitempty"`
	Replicas int           `json:"replicas"`
	// Leader is the server that leads the stream; empty if none does, and on a server on its own its name.
	Leader string `json:"leader,omitempty"`
	Peers  []Peer `json:"peers,omitempty"`
	// Pulse is when the timers of a task stream have worked last, by the clock of the server; zero for other streams, and where
	// that is not known.
	Pulse     time.Time  `json:"pulse,omitzero"`
	Consumers []Consumer `json:"consumers,omitempty"`
}

// title is the name that people know it by.
func (s *Stream) title() string {
	if s.Bucket != "" {
		return "bucket " + s.Bucket
	}
	return "stream " + s.Name
}

// Peer is a server with a replica of a stream that does not lead it.
type Peer struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Offline bool   `json:"offline,omitempty"`
	// Lag is how many operations it is behind.
	Lag uint64 `json:"lag,omitempty"`
}

// Consumer is that of a pool.
type Consumer struct {
	Pool    string `json:"pool"`
	Missing bool   `json:"missing,omitempty"`
	Unfit   bool   `json:"unfit,omitempty"`
	// Waiting counts the requests for messages that processes of the pool have open. Unasked says that there were none for a
	// second, in which nobody got on with what is held.
	Waiting int  `json:"waiting"`
	Unasked bool `json:"unasked,omitempty"`
	// Pending are the messages that nobody has yet, Held those that a process works on, or keeps until their time comes.
	Pending uint64 `json:"pending"`
	Held    int    `json:"held"`
	// Oldest is when the first of the pending ones was stored; zero where there is none.
	Oldest time.Time `json:"oldest,omitzero"`

	movement movement
}

// Frontend is one that answers.
type Frontend struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// Queue is a task queue.
type Queue struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Worker says that somebody seems to serve it.
	Worker bool `json:"worker"`
	// Waiting are the runs that no worker has, Held those that were handed to workers. Oldest is when the first that waits
	// came; zero where none waits.
	Waiting int       `json:"waiting"`
	Held    int       `json:"held"`
	Oldest  time.Time `json:"oldest,omitzero"`
}
