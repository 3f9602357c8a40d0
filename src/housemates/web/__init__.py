"""The page: recordings and live games in a browser. The contract of server and page is docs/page_protocol.md."""
