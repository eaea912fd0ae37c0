// Package limits holds the requests of namespaces to their limits ([Limits]). The frontends of an installation share each limit: they tell
// each other every two seconds that they are there, and what they have accepted and refused.
//
// The package and its neighbours below frontend are for the frontend alone. It may import schedule. It must never know what a request asks
// for, nor keep anything in JetStream.
package limits
