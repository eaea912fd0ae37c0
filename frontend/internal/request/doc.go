// Package request has what every request to the frontend says about itself, whatever it asks for: who asks and when ([Origin]), and from
// which version of a thing ([CheckToken]).
//
// The package and its neighbours below frontend are for the frontend alone. It may import schedule and internal/telemetry. It must never
// read or write anything, nor know a verb.
package request
