"""The page: recordings and live games in a browser. The contract of server and page is docs/api/page_protocol.md."""
