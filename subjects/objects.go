package subjects

import "encoding/base64"

// Objects of JetStream's object store, in NATS's naming: an object has its chunks on one subject and what is known of it on another.

// ObjectStream returns the stream behind a bucket of the object store.
func ObjectStream(bucket string) string { return "OBJ_" + bucket }

// ObjectChunks is the subject of the chunks of one writing of an object, which has an ID of its own.
func ObjectChunks(bucket, id string) string { return "$O." + bucket + ".C." + id }

// ObjectMeta is the subject of what is known of an object.
func ObjectMeta(bucket, name string) string {
	return "$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}
