package diagnosis

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// Facts are what is known about an installation at one moment. Problems has what could not be found out.
type Facts struct {
	// Time is when the facts were gathered, by the clock of this machine.
	Time time.Time `json:"time"`
	// Prefix begins all names of the installation.
	Prefix string `json:"prefix"`
	NATS   NATS   `json:"nats"`
	// Cluster is nil if nobody has initialised an installation with this prefix, or if that is unknown; then Unreadable says why.
	Cluster    *topology.Facts `json:"cluster,omitempty"`
	Unreadable string          `json:"unreadable,omitempty"`
	Namespaces int             `json:"namespaces"`
	// Site is what the site says of itself; nil if the installation has only one. At a standby, only the mirrors are looked at.
	Site *site.Record `json:"site,omitempty"`
	// Archive is nil if no namespace asks for an archive, and all that is known of namespaces can be read.
	Archive *Archive `json:"archive,omitempty"`
	// Streams are the streams of the installation, buckets first, in order. They include missing ones.
	Streams   []Stream   `json:"streams"`
	Frontends []Frontend `json:"frontends"`
	// Processes are the processes that answer, except workers. Processes of releases that do not know the question do not answer.
	Processes []presence.Process `json:"processes"`
	// Queues are the task queues that have runs or had workers.
	Queues []Queue `json:"taskQueues"`
	// Problems say what could not be found out, for users.
	Problems []string `json:"problems,omitempty"`
}

// NATS is what is known about the server and the account.
type NATS struct {
	URL     string `json:"url"`
	Server  string `json:"server"`
	Version string `json:"version"`
	// Cluster is the name of the cluster of servers; empty for a single server. Servers are the servers that it announces.
	Cluster string   `json:"cluster,omitempty"`
	Servers []string `json:"servers,omitempty"`
	// Others are the other servers to which a connection of the same kind was possible.
	Others []Server `json:"others,omitempty"`
	// JetStream is set if the account may use JetStream. Only then are the fields below known.
	JetStream bool `json:"jetStream"`
	// Unanswered is why JetStream did not return the state of the account; empty if it did.
	Unanswered string `json:"unanswered,omitempty"`
	// Stored and StoreLimit are in bytes; a limit of -1 means that there is none.
	Stored     int64 `json:"stored"`
	StoreLimit int64 `json:"storeLimit"`
	// Skew is how far the clock of the servers is ahead of the clock here, give or take about half of RoundTrip.
	Skew      time.Duration `json:"skewNanoseconds"`
	RoundTrip time.Duration `json:"roundTripNanoseconds"`
}

// Server is a NATS server.
type Server struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

// Stream is a stream of the installation, or the stream of a bucket.
type Stream struct {
	Name string `json:"name"`
	// Bucket is the name of the bucket; empty for a stream.
	Bucket string `json:"bucket,omitempty"`
	// Missing is set if it does not exist; the other fields are empty then. Unfit is set if its configuration is wrong.
	Missing bool `json:"missing,omitempty"`
	// Refused is why it accepts no writes, in the words of NATS; empty if it accepts them, or if that is unknown.
	Refused  string `json:"refused,omitempty"`
	Unfit    bool   `json:"unfit,omitempty"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	// MaxBytes is -1 if there is no limit.
	MaxBytes int64 `json:"maxBytes"`
	// Rolls is set if it is configured to drop the oldest messages at its limit, which does no harm.
	Rolls bool `json:"rolls,omitempty"`
	// First is when the oldest message was stored; zero if there is none. A MaxAge of 0 means forever.
	First    time.Time     `json:"first,omitzero"`
	MaxAge   time.Duration `json:"maxAgeNanoseconds,omitempty"`
	Replicas int           `json:"replicas"`
	// Leader is the server that leads the stream; empty if none does. On a single server it is the name of that server.
	Leader string `json:"leader,omitempty"`
	Peers  []Peer `json:"peers,omitempty"`
	// Pulse is when the timers of a task stream last worked, by the clock of the server; zero for other streams, and if that is
	// unknown.
	Pulse     time.Time  `json:"pulse,omitzero"`
	Consumers []Consumer `json:"consumers,omitempty"`
	// Mirror is how far it is behind the stream of the other site; nil if it is none of its mirrors.
	Mirror *Mirror `json:"mirror,omitempty"`
}

// Mirror is how far a mirror is.
type Mirror struct {
	// Lacks is how many messages it lacks, as far as it has heard.
	Lacks uint64 `json:"lacks"`
	// Silent is for how long it has not heard of its origin; negative if it never has.
	Silent time.Duration `json:"silentNanoseconds"`
}

// title returns the name by which users know it.
func (s *Stream) title() string {
	if s.Bucket != "" {
		return "bucket " + s.Bucket
	}
	return "stream " + s.Name
}

// Peer is a server with a replica of a stream that it does not lead.
type Peer struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Offline bool   `json:"offline,omitempty"`
	// Lag is how many operations it is behind.
	Lag uint64 `json:"lag,omitempty"`
}

// Consumer is a consumer from which the processes of a pool take messages.
type Consumer struct {
	Name    string `json:"name"`
	Missing bool   `json:"missing,omitempty"`
	Unfit   bool   `json:"unfit,omitempty"`
	// Waiting counts the open requests for messages by processes of the pool. Unasked is set if there were none for a second, and
	// nobody made progress with the messages in hand during that second.
	Waiting int  `json:"waiting"`
	Unasked bool `json:"unasked,omitempty"`
	// Pending counts the messages that nobody has received yet. Held counts those that a process works on, or keeps until their
	// time comes.
	Pending uint64 `json:"pending"`
	Held    int    `json:"held"`
	// Oldest is when the first of the pending messages was stored; zero if there is none.
	Oldest time.Time `json:"oldest,omitzero"`

	movement movement
}

// Frontend is a frontend that answers.
type Frontend struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// Queue is a task queue.
type Queue struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Worker is set if somebody seems to serve the queue.
	Worker bool `json:"worker"`
	// Waiting are the runs that no worker has, Held those that were handed to workers. Oldest is when the first waiting run came;
	// zero if none waits.
	Waiting int       `json:"waiting"`
	Held    int       `json:"held"`
	Oldest  time.Time `json:"oldest,omitzero"`
}
