// Package rejections counts and logs what net/http and TLS reject before a handler knows of it.
package rejections
