# housemates with the page to watch and play: docker build -t housemates . && docker run --rm -p 8000:8000 housemates
FROM python:3.11-slim
WORKDIR /app
COPY pyproject.toml README.md LICENSE NOTICE constraints.txt ./
COPY src src
# The versions of constraints.txt, which the tests use. On a GPU machine take another base image and leave the pin of torch out.
RUN pip install --no-cache-dir -c constraints.txt '.[web,report,video]'
ENV HOUSEMATES_CACHE=/cache
VOLUME ["/cache", "/data"]
WORKDIR /data
EXPOSE 8000
ENTRYPOINT ["housemates"]
CMD ["play", "--host", "0.0.0.0", "--port", "8000", "--no-browser"]
