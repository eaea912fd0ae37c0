// Package listing makes the pages of lists: which keys are on a page ([Page], [Keys]), the token of the next page ([EncodePageToken]), how
// many entries a reply can hold ([Fit]), and the lists of keys that many requests share ([KeyLists]).
//
// The package and its neighbours below frontend are for the frontend alone. It may import schedule and kv. It must never know what an entry
// is.
package listing
